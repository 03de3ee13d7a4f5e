#include "braid/ops/lowering.h"

#include <algorithm>

namespace braid {
namespace {

constexpr std::pair<Lowering, std::string_view> kNames[] = {
    {Lowering::kGrouped, "grouped"},
    {Lowering::kGroupedLast, "grouped_last"},
    {Lowering::kMember, "member"},
    {Lowering::kGemm, "gemm"},
};

bool is_transposed(const NodeView& v) {
  return v.node().op.starts_with("conv_transpose");
}

bool is_convolution(const NodeView& v) {
  const std::string& op = v.node().op;
  for (const char* name : {"conv1d", "conv2d", "conv3d", "conv_transpose1d",
                           "conv_transpose2d", "conv_transpose3d"}) {
    if (op == name) return true;
  }
  return false;
}

bool all_are(const Ints& list, int64_t number) {
  return std::ranges::all_of(list, [&](int64_t n) { return n == number; });
}

// Each output element is a product over the channels of one input element.
bool is_product(const NodeView& v) {
  const Shape& w = v.shape(1);
  return !is_transposed(v) && v.attrs().integer("groups") == 1 &&
         all_are(Ints(w.begin() + 2, w.end()), 1) &&
         all_are(v.attrs().ints("stride"), 1) &&
         all_are(v.attrs().ints("padding"), 0);
}

// Numbers of one convolution, of one member.
struct Sizes {
  double flops;     // of forward and both gradients
  double elements;  // of input and output
  double inputs;    // channels of a group
  double outputs;
};

Sizes sizes_of(const NodeView& v) {
  const Shape &x = v.shape(0), &w = v.shape(1), &y = v.output(0).type.shape;
  auto groups = static_cast<double>(v.attrs().integer("groups"));
  double weights = 1;  // of an element of `each`
  for (size_t d = 1; d < w.size(); ++d) weights *= static_cast<double>(w[d]);
  auto each = static_cast<double>(num_elements(is_transposed(v) ? x : y));
  return {6 * each * weights,
          static_cast<double>(num_elements(x) + num_elements(y)),
          static_cast<double>(x[1]) / groups,
          static_cast<double>(y[1]) / groups};
}

// Part of the best rate that blocks of so many channels reach: vectors run
// along channels, so few of them leave lanes empty.
double filled(double channels, double block) {
  return channels / (channels + block);
}

// Constants are of float32 on one core with 512-bit vectors; only their ratios
// matter here.
constexpr double kFlops = 5e10;       // per second, of large products
constexpr double kElements = 6e8;     // per second, of memory passes
constexpr double kCall = 2e-5;        // seconds of three calls
constexpr double kDepthwise = 2.5e9;  // flops per second with one channel

double rate(const Sizes& s, Lowering lowering) {
  double fill = filled(s.inputs, 4) * filled(s.outputs, 4);
  switch (lowering) {
    case Lowering::kGrouped: return kFlops * fill * 0.5;
    case Lowering::kGroupedLast: return kFlops * std::min(0.3, fill * 0.9);
    case Lowering::kMember: return kFlops * fill * 0.7;
    case Lowering::kGemm: return kFlops * fill * 0.9;
  }
  return kFlops;
}

// Reorders between the layout of memory and that of blocked kernels.
double passes_of(Lowering lowering) {
  switch (lowering) {
    case Lowering::kGrouped: return 6;
    case Lowering::kGroupedLast: return 2;
    case Lowering::kMember: return 5;
    case Lowering::kGemm: return 2;
  }
  return 1;
}

}  // namespace

std::string_view lowering_name(Lowering lowering) {
  for (const auto& [known, name] : kNames) {
    if (known == lowering) return name;
  }
  return "";
}

std::optional<Lowering> find_lowering(std::string_view name) {
  for (const auto& [lowering, known] : kNames) {
    if (known == name) return lowering;
  }
  return std::nullopt;
}

std::vector<Lowering> all_lowerings() {
  std::vector<Lowering> all;
  for (const auto& [lowering, name] : kNames) all.push_back(lowering);
  return all;
}

bool leads(Lowering lowering) {
  return lowering == Lowering::kMember || lowering == Lowering::kGemm;
}

std::vector<Lowering> lowerings_of(const NodeView& one) {
  if (!is_convolution(one)) return {};
  std::vector<Lowering> fit{Lowering::kGrouped};
  if (one.rank(0) == 4) fit.push_back(Lowering::kGroupedLast);
  fit.push_back(Lowering::kMember);
  if (is_product(one)) fit.push_back(Lowering::kGemm);
  return fit;
}

std::string convolution_text(const NodeView& one) {
  std::string text =
      fmt::format("{} {} {} {}", one.node().op, dtype_name(one.dtype(0)),
                  shape_text(one.shape(0)), shape_text(one.shape(1)));
  for (const char* name : {"stride", "padding", "dilation", "output_padding"}) {
    if (!one.attrs().has(name)) continue;
    text += fmt::format(" {}={}", name, shape_text(one.attrs().ints(name)));
  }
  return text + fmt::format(" groups={}", one.attrs().integer("groups"));
}

double lowering_seconds(const NodeView& one, int64_t members, Lowering lowering,
                        int threads) {
  Sizes s = sizes_of(one);
  auto count = static_cast<double>(members);
  double cores = std::max(threads, 1);
  bool depthwise = s.inputs == 1 && s.outputs == 1;
  double per_second = depthwise ? kDepthwise : rate(s, lowering);
  double seconds =
      s.flops / per_second + s.elements * passes_of(lowering) / kElements;
  double calls = leads(lowering) ? count : 1;
  return count * seconds / cores + calls * kCall;
}

}  // namespace braid
