// Images made larger or smaller: x[N, C, S] -> [N, C, size]. Attributes:
// `size` (one to three), `align_corners` of all but the nearest ones, and
// scale_d, scale_h, scale_w where the user gave a factor; a factor that was
// given counts instead of the quotient of the sizes, as in PyTorch.
#include "braid/ops/build/functions.h"
#include "braid/ops/core/families.h"
#include "braid/ops/core/traits.h"

namespace braid {
namespace {

std::vector<ValueType> resized(const NodeView& v, int64_t dims) {
  const Ints& size = v.attrs().ints("size");
  if (v.rank(0) != dims + 2) v.fail("the input needs rank {}", dims + 2);
  if (static_cast<int64_t>(size.size()) != dims) {
    v.fail("size = {} needs {} sizes", shape_text(size), dims);
  }
  Shape shape{v.dim(0, 0), v.dim(0, 1)};
  for (int64_t d = 0; d < dims; ++d) {
    int64_t wanted = size[static_cast<size_t>(d)];
    if (v.dim(0, d + 2) < 1 || wanted < 1) {
      v.fail("sizes must be at least 1, got {} to {}", shape_text(v.shape(0)),
             shape_text(size));
    }
    shape.push_back(wanted);
  }
  return {{v.dtype(0), shape}};
}

void upsample_vjp(VjpContext& c) {
  Attrs attrs = c.attrs();
  attrs.set("shape", c.in(0).shape());
  c.give(0, apply(c.node().op->name + "_backward", {c.grad(0)}, attrs));
}

// `taps` input elements are weighed for each output.
void add_upsample(OpTable& table, const std::string& name, int64_t dims,
                  std::string summary, int64_t taps) {
  table.add({.name = name,
             .summary = std::move(summary),
             .shape = [=](const NodeView& v) { return resized(v, dims); },
             .vjp = upsample_vjp,
             .array = array_channels,
             .array_rule = ArrayRule::kChannels,
             .cost =
                 [=](const NodeView& v) {
                   return Cost{static_cast<double>(taps) *
                                   static_cast<double>(
                                       num_elements(v.output(0).type.shape)),
                               0};
                 }});
  table.add({.name = name + "_backward",
             .summary = "dx from dy",
             .shape = [](const NodeView& v) -> std::vector<ValueType> {
               const Ints& shape = v.attrs().ints("shape");
               if (shape.size() != v.shape(0).size()) v.fail("ranks differ");
               return {{v.dtype(0), shape}};
             }});
}

}  // namespace

void add_upsample_ops(OpTable& table) {
  for (int64_t dims : {1, 2, 3}) {
    add_upsample(table, fmt::format("upsample_nearest{}d", dims), dims,
                 "the element at floor(place * scale)", 1);
    add_upsample(table, fmt::format("_upsample_nearest_exact{}d", dims), dims,
                 "the element whose middle is nearest", 1);
  }
  add_upsample(table, "upsample_linear1d", 1, "linear between neighbours", 4);
  add_upsample(table, "upsample_bilinear2d", 2, "linear in two dimensions", 8);
  add_upsample(table, "upsample_trilinear3d", 3, "linear in three", 16);
  add_upsample(table, "upsample_bicubic2d", 2, "cubic through 4 x 4", 32);
}

}  // namespace braid
