// Norms and distances between vectors.
#include "braid/base/promote.h"
#include "braid/ops/build/functions.h"
#include "braid/ops/core/families.h"
#include "braid/ops/core/traits.h"

namespace braid {
namespace {

// x[..., D, ...] -> [..., 1, ...]: the p-norm along `dim` (not negative),
// at least eps. The gradient passes as if there were no bound, as in
// PyTorch's cosine similarity, and is 0 where the norm is 0.
std::vector<ValueType> bounded_norm_shape(const NodeView& v) {
  int64_t dim = v.attrs().integer("dim");
  if (dim < 0 || dim >= v.rank(0)) v.fail("dimension {} is outside", dim);
  if (!is_floating(v.dtype(0))) {
    v.fail("{} is no float", dtype_name(v.dtype(0)));
  }
  if (v.attrs().number("p") <= 0) v.fail("p must be above 0");
  Shape shape = v.shape(0);
  shape[static_cast<size_t>(dim)] = 1;
  return {{v.dtype(0), shape}};
}

Var bounded_norm(Var x, int64_t dim, double p, double eps) {
  dim = normalize_dim(dim, x.rank(), "norm");
  return apply("bounded_norm", {x}, {{"dim", dim}, {"p", p}, {"eps", eps}});
}

Var squeezed(Var x, int64_t dim) {
  Shape shape = x.shape();
  shape.erase(shape.begin() + normalize_dim(dim, x.rank(), "norm"));
  return reshape(x, shape);
}

}  // namespace

void add_distance_ops(OpTable& table) {
  table.add({.name = "bounded_norm",
             .summary = "max(p-norm of x along dim, eps), the dim kept as 1",
             .shape = bounded_norm_shape,
             .vjp =
                 [](VjpContext& c) {
                   c.give(0, apply("bounded_norm_backward",
                                   {c.grad(0), c.in(0)}, c.attrs()));
                 },
             .array =
                 [](ArrayContext& c) {
                   Attrs attrs = c.attrs();
                   attrs.set("dim", attrs.integer("dim") + 1);
                   array_shifted(c, attrs);
                 },
             .array_rule = ArrayRule::kShiftDims});
  table.add({.name = "bounded_norm_backward",
             .summary = "dy * d p-norm / dx, 0 where the norm is 0",
             .min_inputs = 2,
             .max_inputs = 2,
             .shape = [](const NodeView& v) -> std::vector<ValueType> {
               return {v.type(1)};
             }});
}

Var cosine_similarity(Var a, Var b, int64_t dim, double eps) {
  Shape shape = broadcast_shapes(a.shape(), b.shape(), "cosine_similarity");
  DType dtype = promote(a.dtype(), b.dtype());
  a = expand(cast(a, dtype), shape);
  b = expand(cast(b, dtype), shape);
  Var x = div(a, bounded_norm(a, dim, 2, eps));
  Var y = div(b, bounded_norm(b, dim, 2, eps));
  return sum(mul(x, y), {dim});
}

Var pairwise_distance(Var a, Var b, double p, double eps, bool keep_dim) {
  Var norm = bounded_norm(add_scalar(sub(a, b), eps), -1, p, 0);
  return keep_dim ? norm : squeezed(norm, -1);
}

Var cdist(Var a, Var b, double p) {
  Var apart = sub(unsqueeze(a, -2), unsqueeze(b, -3));
  return squeezed(bounded_norm(apart, -1, p, 0), -1);
}

}  // namespace braid
