// Padding by pieces of the input, one dimension after the other, so that its
// gradient is a sum of pieces in a fixed order; windows and columns.
#include "braid/runtime/kernels/aten/bind.h"

namespace braid::runtime {
namespace {

// Which entries of a dimension stand before or after it.
struct Piece {
  at::Tensor part;  // of the input
  bool backwards = false;
  bool repeated = false;
};

// Where the `width` entries on one side come from.
Piece piece(const std::string& mode, const at::Tensor& x, int64_t dim,
            int64_t width, bool before) {
  int64_t size = x.size(dim);
  if (mode == "reflect") {
    int64_t start = before ? 1 : size - 1 - width;
    return {x.narrow(dim, start, width), true, false};
  }
  if (mode == "replicate") {
    return {x.narrow(dim, before ? 0 : size - 1, 1), false, true};
  }
  return {x.narrow(dim, before ? size - width : 0, width), false, false};
}

void copy_piece(at::Tensor to, const Piece& from, int64_t dim) {
  to.copy_(from.backwards ? from.part.flip(dim) : from.part);
}

void add_piece(const Piece& to, const at::Tensor& dy, int64_t dim) {
  at::Tensor part = to.part;
  if (to.repeated) {
    part.add_(dy.sum(dim, true));
  } else {
    part.add_(to.backwards ? dy.flip(dim) : dy);
  }
}

at::Tensor padded(const at::Tensor& x, const std::string& mode, int64_t dim,
                  int64_t before, int64_t after) {
  std::vector<int64_t> shape = x.sizes().vec();
  int64_t size = x.size(dim);
  shape[static_cast<size_t>(dim)] += before + after;
  at::Tensor y = at::empty(shape, x.options());
  y.narrow(dim, before, size).copy_(x);
  if (before > 0) {
    copy_piece(y.narrow(dim, 0, before), piece(mode, x, dim, before, true),
               dim);
  }
  if (after > 0) {
    copy_piece(y.narrow(dim, before + size, after),
               piece(mode, x, dim, after, false), dim);
  }
  return y;
}

at::Tensor padded_gradient(const at::Tensor& dy, const std::string& mode,
                           int64_t dim, int64_t before, int64_t after) {
  int64_t size = dy.size(dim) - before - after;
  at::Tensor dx = dy.narrow(dim, before, size).clone();
  if (before > 0) {
    add_piece(piece(mode, dx, dim, before, true), dy.narrow(dim, 0, before),
              dim);
  }
  if (after > 0) {
    add_piece(piece(mode, dx, dim, after, false),
              dy.narrow(dim, before + size, after), dim);
  }
  return dx;
}

// The part of x and of y that a constant padding copies.
void pad_constant(Bound& b, const Ints& pad) {
  at::Tensor x = b.in[0], y = b.out[0];
  y.fill_(b.attrs().number("value"));
  for (size_t i = 0; i + 1 < pad.size(); i += 2) {
    int64_t dim = x.dim() - 1 - static_cast<int64_t>(i / 2);
    int64_t from = std::max<int64_t>(-pad[i], 0);
    int64_t to = std::max<int64_t>(pad[i], 0);
    int64_t end = x.size(dim) - std::max<int64_t>(-pad[i + 1], 0);
    if (end <= from) return;
    x = x.narrow(dim, from, end - from);
    y = y.narrow(dim, to, end - from);
  }
  y.copy_(x);
}

void pad(Bound& b) {
  const Ints& pad = b.attrs().ints("pad");
  const std::string& mode = b.attrs().text("mode");
  if (mode == "constant") return pad_constant(b, pad);
  at::Tensor x = b.in[0];
  for (size_t i = 0; i + 1 < pad.size(); i += 2) {
    int64_t dim = x.dim() - 1 - static_cast<int64_t>(i / 2);
    x = padded(x, mode, dim, pad[i], pad[i + 1]);
  }
  b.out[0].copy_(x);
}

void pad_backward(Bound& b) {
  const Ints& pad = b.attrs().ints("pad");
  at::Tensor dy = b.in[0];
  for (size_t i = pad.size() / 2; i-- > 0;) {
    int64_t dim = dy.dim() - 1 - static_cast<int64_t>(i);
    dy = padded_gradient(dy, b.attrs().text("mode"), dim, pad[2 * i],
                         pad[2 * i + 1]);
  }
  b.out[0].copy_(dy);
}

void unfold_backward(Bound& b) {
  const Attrs& a = b.attrs();
  if (b.out[0].numel() == 0) return;
  b.out[0].copy_(at::unfold_backward(b.in[0], b.out[0].sizes(),
                                     a.integer("dim"), a.integer("size"),
                                     a.integer("step")));
}

}  // namespace

void add_aten_pad(KernelTable& table, at::Device device) {
  auto add = [&](const char* op, Body body) {
    table.add(op, aten_kernel(device, std::move(body)));
  };
  add("pad", pad);
  add("pad_backward", pad_backward);
  add("unfold", [](Bound& b) {
    const Attrs& a = b.attrs();
    b.out[0].copy_(
        b.in[0].unfold(a.integer("dim"), a.integer("size"), a.integer("step")));
  });
  add("unfold_backward", unfold_backward);
  add("im2col", [](Bound& b) {
    const Attrs& a = b.attrs();
    at::im2col_out(b.out[0], b.in[0], a.ints("kernel"), a.ints("dilation"),
                   a.ints("padding"), a.ints("stride"));
  });
  add("col2im", [](Bound& b) {
    const Attrs& a = b.attrs();
    at::col2im_out(b.out[0], b.in[0], a.ints("size"), a.ints("kernel"),
                   a.ints("dilation"), a.ints("padding"), a.ints("stride"));
  });
}

}  // namespace braid::runtime
