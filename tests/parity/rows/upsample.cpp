#include <fmt/format.h>

#include "../row.h"
#include "braid/ops/build/functions.h"

namespace braid::parity {
namespace {

using Vars = std::vector<Var>;
using Size = at::OptionalIntArrayRef;
using Scale = std::optional<at::ArrayRef<double>>;

Shape image(int64_t dims, Shape lead = {2, 3}) {
  constexpr int64_t kSizes[] = {5, 4, 3};
  for (int64_t d = 0; d < dims; ++d) lead.push_back(kSizes[d]);
  return lead;
}

at::Tensor nearest(const at::Tensor& x, bool exact, Size size, Scale scale) {
  switch (x.dim()) {
    case 3:
      return exact ? at::_upsample_nearest_exact1d(x, size, scale)
                   : at::upsample_nearest1d(x, size, scale);
    case 4:
      return exact ? at::_upsample_nearest_exact2d(x, size, scale)
                   : at::upsample_nearest2d(x, size, scale);
    default:
      return exact ? at::_upsample_nearest_exact3d(x, size, scale)
                   : at::upsample_nearest3d(x, size, scale);
  }
}

// The .vec overloads: what torch.nn.functional.interpolate calls.
at::Tensor reference(const at::Tensor& x, const Upsample& o) {
  Size size;
  Scale scale;
  if (!o.size.empty()) size = o.size;
  if (!o.scale.empty()) scale = o.scale;
  bool align = o.align_corners;
  if (o.mode == "nearest") return nearest(x, false, size, scale);
  if (o.mode == "nearest-exact") return nearest(x, true, size, scale);
  if (o.mode == "linear") return at::upsample_linear1d(x, size, align, scale);
  if (o.mode == "bilinear") {
    return at::upsample_bilinear2d(x, size, align, scale);
  }
  if (o.mode == "bicubic") return at::upsample_bicubic2d(x, size, align, scale);
  return at::upsample_trilinear3d(x, size, align, scale);
}

std::string op_name(const std::string& mode, int64_t dims) {
  if (mode == "nearest-exact") {
    return fmt::format("_upsample_nearest_exact{}d", dims);
  }
  return fmt::format("upsample_{}{}d", mode, dims);
}

Row upsample_row(Arg x, const Upsample& o, std::string note) {
  auto dims = static_cast<int64_t>(x.shape.size()) - 2;
  return {.op = op_name(o.mode, dims),
          .args = {x},
          .attrs = {},
          .reference = [=](const Tensors& t) { return reference(t[0], o); },
          .build = [=](const Vars& v) { return upsample(v[0], o); },
          .note = (o.align_corners ? "aligned " : "") + std::move(note)};
}

void add_rows(std::vector<Row>& rows, const std::string& mode, int64_t dims,
              bool align) {
  auto n = static_cast<size_t>(dims);
  auto add = [&](Arg x, Ints size, std::vector<double> scale,
                 std::string note) {
    if (!size.empty()) size.resize(n);
    if (!scale.empty()) scale.resize(n);
    rows.push_back(upsample_row(
        x, {.mode = mode, .size = size, .scale = scale, .align_corners = align},
        std::move(note)));
  };
  Arg x{image(dims)};
  add(x, {10, 8, 6}, {}, "twice");
  add(x, {7, 3, 8}, {}, "any size");
  add(x, {2, 3, 1}, {}, "smaller");
  add(x, {1, 1, 1}, {}, "to one");
  add(x, {5, 4, 3}, {}, "same");
  add({image(dims, {1, 1})}, {11, 5, 4}, {}, "one channel");
  add(x, {}, {2, 2, 2}, "factor 2");
  // Sizes round down, and the factor itself counts, not the quotient.
  add(x, {}, {1.7, 2.6, 1.4}, "odd factors");
  add(x, {}, {0.5, 0.8, 0.7}, "small factors");
  add({image(dims, {0, 2})}, {7, 3, 8}, {}, "empty batch");
}

// [N, H, W, C] seen as images.
Row channels_last(const std::string& mode) {
  Upsample o{.mode = mode, .size = {7, 9}};
  Row row = upsample_row({{2, 4, 5, 3}}, o, "channels last");
  row.build = [=](const Vars& v) {
    return upsample(permute(v[0], {0, 3, 1, 2}), o);
  };
  row.reference = [=](const Tensors& t) {
    return reference(t[0].permute({0, 3, 1, 2}), o);
  };
  return row;
}

// On channels that a convolution left merged.
Row after_conv(const std::string& mode) {
  Upsample o{.mode = mode, .scale = {2, 2}};
  Row row = upsample_row({{2, 3, 4, 5}}, o, "after a convolution");
  row.args.push_back({{4, 3, 2, 2}});
  row.build = [=](const Vars& v) {
    return upsample(conv2d(v[0], v[1], {}), o);
  };
  row.reference = [=](const Tensors& t) {
    return reference(at::conv2d(t[0], t[1]), o);
  };
  return row;
}

Row shuffle(Shape x, int64_t factor, bool back) {
  return {.op = back ? "pixel_unshuffle" : "pixel_shuffle",
          .args = {{x}},
          .attrs = {},
          .reference =
              [=](const Tensors& t) {
                return back ? at::pixel_unshuffle(t[0], factor)
                            : at::pixel_shuffle(t[0], factor);
              },
          .build =
              [=](const Vars& v) {
                return back ? pixel_unshuffle(v[0], factor)
                            : pixel_shuffle(v[0], factor);
              },
          .note = shape_text(x)};
}

}  // namespace

std::vector<Row> upsample_rows() {
  std::vector<Row> rows;
  for (int64_t dims : {1, 2, 3}) {
    add_rows(rows, "nearest", dims, false);
    add_rows(rows, "nearest-exact", dims, false);
  }
  for (bool align : {false, true}) {
    add_rows(rows, "linear", 1, align);
    add_rows(rows, "bilinear", 2, align);
    add_rows(rows, "bicubic", 2, align);
    add_rows(rows, "trilinear", 3, align);
  }
  for (const char* mode : {"nearest", "nearest-exact", "bilinear", "bicubic"}) {
    rows.push_back(channels_last(mode));
    rows.push_back(after_conv(mode));
  }
  rows.push_back(shuffle({2, 12, 3, 4}, 2, false));
  rows.push_back(shuffle({9, 2, 5}, 3, false));
  rows.push_back(shuffle({2, 2, 4, 1, 1}, 2, false));
  rows.push_back(shuffle({2, 3, 4, 6}, 2, true));
  rows.push_back(shuffle({1, 6, 9}, 3, true));
  rows.push_back(shuffle({2, 1, 3, 2, 2}, 1, true));
  return rows;
}

}  // namespace braid::parity
