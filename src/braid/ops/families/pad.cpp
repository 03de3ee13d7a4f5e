// Padding, sliding windows, images as columns and back.
// Widths are listed as in PyTorch: before and after of the last dimension,
// then of the one before it. Members in front are not touched by that.
#include <algorithm>

#include "braid/ops/build/functions.h"
#include "braid/ops/core/dim_rules.h"
#include "braid/ops/core/families.h"
#include "braid/ops/core/traits.h"

namespace braid {
namespace {

// Entries that a mode can make out of `size` on one side.
int64_t pad_limit(const std::string& mode, int64_t size) {
  if (mode == "reflect") return size - 1;
  if (mode == "circular") return size;
  return size > 0 ? INT64_MAX : 0;  // replicate
}

void check_widths(const NodeView& v, int64_t size, int64_t before,
                  int64_t after) {
  const std::string& mode = v.attrs().text("mode");
  if (mode == "constant") return;
  if (mode != "reflect" && mode != "replicate" && mode != "circular") {
    v.fail("unknown mode '{}'", mode);
  }
  if (before < 0 || after < 0 ||
      std::max(before, after) > pad_limit(mode, size)) {
    v.fail("{} cannot pad {} entries by {} and {}", mode, size, before, after);
  }
}

std::vector<ValueType> pad_shape(const NodeView& v) {
  const Ints& pad = v.attrs().ints("pad");
  if (pad.size() % 2 != 0 || pad.size() / 2 > v.shape(0).size()) {
    v.fail("{} widths for rank {}", pad.size(), v.rank(0));
  }
  Shape shape = v.shape(0);
  for (size_t i = 0; i + 1 < pad.size(); i += 2) {
    int64_t& size = shape[shape.size() - 1 - i / 2];
    check_widths(v, size, pad[i], pad[i + 1]);
    size += pad[i] + pad[i + 1];
    if (size < 0) v.fail("widths cut off more than there is");
  }
  return {{v.dtype(0), shape}};
}

// The other way round; constants have no gradient.
void pad_vjp(VjpContext& c) {
  if (c.attrs().text("mode") != "constant") {
    c.give(0, apply("pad_backward", {c.grad(0)}, with_input_shape(c)));
    return;
  }
  Ints back = c.attrs().ints("pad");
  for (int64_t& width : back) width = -width;
  c.give(0, pad(c.grad(0), back));
}

std::vector<ValueType> unfold_shape(const NodeView& v) {
  int64_t dim = checked_dim(v);
  int64_t size = v.attrs().integer("size"), step = v.attrs().integer("step");
  if (size < 0 || size > v.dim(0, dim) || step < 1) {
    v.fail("no windows of {} every {} in {} entries", size, step,
           v.dim(0, dim));
  }
  Shape shape = v.shape(0);
  shape[static_cast<size_t>(dim)] = (v.dim(0, dim) - size) / step + 1;
  shape.push_back(size);
  return {{v.dtype(0), shape}};
}

// Places of the window along dimension d of an image of `size`.
int64_t window_count(const NodeView& v, size_t d, int64_t size) {
  int64_t kernel = v.attrs().ints("kernel").at(d);
  int64_t dilation = v.attrs().ints("dilation").at(d);
  int64_t padding = v.attrs().ints("padding").at(d);
  int64_t stride = v.attrs().ints("stride").at(d);
  if (kernel < 1 || dilation < 1 || padding < 0 || stride < 1) {
    v.fail("kernel {}, dilation {}, padding {}, stride {} do not fit", kernel,
           dilation, padding, stride);
  }
  int64_t room = size + 2 * padding - dilation * (kernel - 1) - 1;
  if (room < 0) v.fail("the window is larger than the image");
  return room / stride + 1;
}

int64_t window_size(const NodeView& v) {
  const Ints& kernel = v.attrs().ints("kernel");
  return kernel.at(0) * kernel.at(1);
}

std::vector<ValueType> im2col_shape(const NodeView& v) {
  if (v.rank(0) != 4) v.fail("the input needs rank 4");
  return {
      {v.dtype(0),
       {v.dim(0, 0), v.dim(0, 1) * window_size(v),
        window_count(v, 0, v.dim(0, 2)) * window_count(v, 1, v.dim(0, 3))}}};
}

std::vector<ValueType> col2im_shape(const NodeView& v) {
  if (v.rank(0) != 3) v.fail("the input needs rank 3");
  const Ints& size = v.attrs().ints("size");
  int64_t places =
      window_count(v, 0, size.at(0)) * window_count(v, 1, size.at(1));
  if (v.dim(0, 2) != places || v.dim(0, 1) % window_size(v) != 0) {
    v.fail("columns {} do not fit {} windows of {}", shape_text(v.shape(0)),
           places, window_size(v));
  }
  return {{v.dtype(0),
           {v.dim(0, 0), v.dim(0, 1) / window_size(v), size[0], size[1]}}};
}

void im2col_vjp(VjpContext& c) {
  Attrs attrs = c.attrs();
  attrs.set("size", Ints{c.in(0).dim(2), c.in(0).dim(3)});
  c.give(0, apply("col2im", {c.grad(0)}, attrs));
}

void col2im_vjp(VjpContext& c) {
  Attrs attrs = c.attrs();
  attrs.erase("size");
  c.give(0, apply("im2col", {c.grad(0)}, attrs));
}

// What negative widths cut off.
Var crop(Var x, const Ints& pad) {
  Ints negative = pad;
  for (int64_t& width : negative) width = std::min<int64_t>(width, 0);
  bool any =
      std::any_of(pad.begin(), pad.end(), [](int64_t w) { return w < 0; });
  return any ? braid::pad(x, negative) : x;
}

}  // namespace

void add_pad_ops(OpTable& table) {
  table.add({.name = "pad",
             .summary = "x with more entries around; negative widths cut off",
             .shape = pad_shape,
             .vjp = pad_vjp,
             .array = [](ArrayContext& c) { array_shifted(c, c.attrs()); },
             .array_rule = ArrayRule::kShiftDims});
  table.add({.name = "pad_backward",
             .summary = "dy added up at the entries that were repeated",
             .shape = given_shape});
  table.add({.name = "unfold",
             .summary = "windows along a dim, as a new last dim",
             .shape = unfold_shape,
             .vjp =
                 [](VjpContext& c) {
                   c.give(0, apply("unfold_backward", {c.grad(0)},
                                   with_input_shape(c)));
                 },
             .array = array_dim,
             .array_rule = ArrayRule::kShiftDims});
  table.add({.name = "unfold_backward",
             .summary = "dy added up at the entries of its windows",
             .shape = given_shape});
  table.add({.name = "im2col",
             .summary = "x[N, C, H, W] as columns [N, C * K, L]",
             .shape = im2col_shape,
             .vjp = im2col_vjp,
             .array = array_folded,
             .array_rule = ArrayRule::kFoldBatch});
  table.add({.name = "col2im",
             .summary = "columns [N, C * K, L] added up as [N, C, H, W]",
             .shape = col2im_shape,
             .vjp = col2im_vjp,
             .array = array_folded,
             .array_rule = ArrayRule::kFoldBatch});
}

// A constant is put around what is left; wrapped entries come from what is
// left, mirrored and repeated ones from the whole.
Var pad(Var x, const Ints& widths, std::string mode, double value) {
  bool is_constant = mode == "constant";
  if (mode == "circular") x = crop(x, widths);
  Ints given = widths;
  if (!is_constant) {
    for (int64_t& width : given) width = std::max<int64_t>(width, 0);
  }
  Var y = apply("pad", {x}, {{"pad", given}, {"mode", mode}, {"value", value}});
  return is_constant || mode == "circular" ? y : crop(y, widths);
}

Var unfold(Var x, int64_t dim, int64_t size, int64_t step) {
  dim = normalize_dim(dim, x.rank(), "unfold");
  if (x.rank() == 0) x = reshape(x, {1});
  Var y = apply("unfold", {x}, {{"dim", dim}, {"size", size}, {"step", step}});
  return y;
}

Var im2col(Var x, const Windows& w) {
  Attrs attrs{{"kernel", w.kernel},
              {"dilation", w.dilation},
              {"padding", w.padding},
              {"stride", w.stride}};
  if (x.rank() == 4) return apply("im2col", {x}, attrs);
  Var y = apply("im2col", {unsqueeze(x, 0)}, attrs);
  return reshape(y, {y.dim(1), y.dim(2)});
}

Var col2im(Var x, Ints size, const Windows& w) {
  Attrs attrs{{"size", std::move(size)},
              {"kernel", w.kernel},
              {"dilation", w.dilation},
              {"padding", w.padding},
              {"stride", w.stride}};
  if (x.rank() == 3) return apply("col2im", {x}, attrs);
  Var y = apply("col2im", {unsqueeze(x, 0)}, attrs);
  return reshape(y, {y.dim(1), y.dim(2), y.dim(3)});
}

}  // namespace braid
