#include "braid/ops/core/lowering.h"

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
  return v.node().is(OpKind::kTransposedConvolution);
}

bool is_convolution(const NodeView& v) {
  return v.node().is(OpKind::kConvolution) || is_transposed(v);
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

// How fast a lowering is: fitted to float32 times of a core with 512-bit
// vectors (reference sizes: 1 to 6 channels on 28 x 28 up to 64 to 64 on
// 16 x 16, 8 and 32 members). Only their ratios matter here.
struct Speed {
  double flops;      // per second, of many channels
  double block;      // channels with which half of that is reached
  double most;       // flops per second at most
  double element;    // seconds per element of input and output, for reorders
  double depthwise;  // the same when every channel is on its own
};

Speed speed_of(Lowering lowering) {
  switch (lowering) {
    case Lowering::kGrouped: return {9e10, 8, 9e10, 5e-9, 2e-9};
    case Lowering::kGroupedLast: return {1.5e11, 5, 1.1e11, 2e-9, 3e-9};
    case Lowering::kMember: return {1.5e11, 8, 1.5e11, 2.5e-9, 2e-9};
    case Lowering::kGemm: return {1.4e11, 8, 1.4e11, 1.5e-9, 2e-9};
  }
  return {};
}

constexpr double kCall = 2e-5;  // seconds of three calls

double seconds_of_one(const Sizes& s, Lowering lowering) {
  Speed speed = speed_of(lowering);
  if (s.inputs == 1 && s.outputs == 1) return s.elements * speed.depthwise;
  double fill = filled(s.inputs, speed.block) * filled(s.outputs, speed.block);
  return s.flops / std::min(speed.most, speed.flops * fill) +
         s.elements * speed.element;
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
      fmt::format("{} {} {} {}", one.node().op->name, dtype_name(one.dtype(0)),
                  shape_text(one.shape(0)), shape_text(one.shape(1)));
  for (const char* name : {"stride", "padding", "dilation", "output_padding"}) {
    if (!one.attrs().has(name)) continue;
    text += fmt::format(" {}={}", name, shape_text(one.attrs().ints(name)));
  }
  return text + fmt::format(" groups={}", one.attrs().integer("groups"));
}

double lowering_seconds(const NodeView& one, int64_t members, Lowering lowering,
                        int threads) {
  auto count = static_cast<double>(members);
  double cores = std::max(threads, 1);
  double calls = leads(lowering) ? count / std::min(cores, count) : 1;
  return count * seconds_of_one(sizes_of(one), lowering) / cores +
         calls * kCall;
}

}  // namespace braid
