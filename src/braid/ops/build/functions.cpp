#include "braid/ops/build/functions.h"

#include <numeric>

#include "braid/base/error.h"
#include "braid/base/promote.h"

namespace braid {
namespace {

Shape resolve_shape(Var x, Shape shape) {
  int64_t known = 1;
  int64_t* open = nullptr;
  for (int64_t& size : shape) {
    if (size == -1 && !open) {
      open = &size;
    } else {
      known *= size;
    }
  }
  if (open) *open = known == 0 ? 0 : x.numel() / known;
  return shape;
}

}  // namespace

Var add(Var a, Var b) { return apply("add", {a, b}); }
Var sub(Var a, Var b) { return apply("sub", {a, b}); }
Var mul(Var a, Var b) { return apply("mul", {a, b}); }
Var div(Var a, Var b) { return apply("div", {a, b}); }
Var neg(Var x) { return apply("neg", {x}); }
Var exp(Var x) { return apply("exp", {x}); }
Var log(Var x) { return apply("log", {x}); }
Var sqrt(Var x) { return apply("sqrt", {x}); }
Var tanh(Var x) { return apply("tanh", {x}); }
Var sigmoid(Var x) { return apply("sigmoid", {x}); }
Var relu(Var x) { return apply("relu", {x}); }
Var gelu(Var x, bool tanh_form) {
  return apply("gelu", {x}, {{"tanh", tanh_form}});
}

Var reshape(Var x, Shape shape) {
  shape = resolve_shape(x, std::move(shape));
  if (shape == x.shape()) return x;
  return apply("reshape", {x}, {{"shape", shape}});
}

Var flatten(Var x, int64_t start_dim) {
  int64_t start = normalize_dim(start_dim, x.rank(), "flatten");
  Shape shape(x.shape().begin(), x.shape().begin() + start);
  shape.push_back(-1);
  return reshape(x, shape);
}

Var permute(Var x, Ints dims) {
  for (int64_t& d : dims) d = normalize_dim(d, x.rank(), "permute");
  return apply("permute", {x}, {{"dims", std::move(dims)}});
}

Var transpose(Var x, int64_t a, int64_t b) {
  Ints dims(static_cast<size_t>(x.rank()));
  std::iota(dims.begin(), dims.end(), 0);
  std::swap(dims[static_cast<size_t>(normalize_dim(a, x.rank(), "transpose"))],
            dims[static_cast<size_t>(normalize_dim(b, x.rank(), "transpose"))]);
  return permute(x, dims);
}

Var expand(Var x, Shape shape) {
  if (shape == x.shape()) return x;
  return apply("expand", {x}, {{"shape", std::move(shape)}});
}

Var unsqueeze(Var x, int64_t dim) {
  Shape shape = x.shape();
  shape.insert(shape.begin() + normalize_dim(dim, x.rank() + 1, "unsqueeze"),
               1);
  return reshape(x, shape);
}

Var slice(Var x, int64_t dim, int64_t start, int64_t end, int64_t step) {
  dim = normalize_dim(dim, x.rank(), "slice");
  return apply("slice", {x},
               {{"dim", dim}, {"start", start}, {"end", end}, {"step", step}});
}

Var select(Var x, int64_t dim, int64_t index) {
  dim = normalize_dim(dim, x.rank(), "select");
  index = normalize_dim(index, x.dim(dim), "select");
  Shape shape = x.shape();
  shape.erase(shape.begin() + dim);
  return reshape(slice(x, dim, index, index + 1), shape);
}

Var cat(const std::vector<Var>& xs, int64_t dim) {
  DType dtype = xs.at(0).dtype();
  std::vector<Var> parts;
  for (const Var& x : xs) {
    dtype = promote(dtype, x.dtype());
    if (x.shape() != Shape{0}) parts.push_back(x);  // fits any rank
  }
  if (parts.empty()) parts.push_back(xs[0]);
  for (Var& x : parts) x = cast(x, dtype);
  dim = normalize_dim(dim, parts[0].rank(), "cat");
  return apply("cat", parts, {{"dim", dim}});
}

Var cast(Var x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return apply("to", {x}, {{"dtype", std::string(dtype_name(dtype))}});
}

Var detach(Var x) { return apply("detach", {x}); }

Var full_like(Var like, Shape shape, double value) {
  return apply("full", {like}, {{"shape", std::move(shape)}, {"value", value}});
}

Var sum_to(Var x, Shape shape) {
  if (x.shape() == shape) return x;
  auto extra = x.rank() - static_cast<int64_t>(shape.size());
  Ints dims;
  for (int64_t d = 0; d < x.rank(); ++d) {
    bool added = d < extra;
    if (added ||
        (shape[static_cast<size_t>(d - extra)] == 1 && x.dim(d) != 1)) {
      dims.push_back(d);
    }
  }
  return reshape(dims.empty() ? x : sum(x, dims), shape);
}

Var linear(Var x, Var w, Var b, int64_t members) {
  Attrs attrs;
  if (members > 0) attrs.set("members", members);
  return apply("linear", {x, w, b}, attrs);
}

Var embedding(Var weight, Var indices, int64_t padding_idx) {
  return apply("embedding", {weight, indices}, {{"padding_idx", padding_idx}});
}

Var cross_entropy(Var logits, Var target, double label_smoothing) {
  return apply("cross_entropy_loss", {logits, target},
               {{"label_smoothing", label_smoothing}});
}

}  // namespace braid
