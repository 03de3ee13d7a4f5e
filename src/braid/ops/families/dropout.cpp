// Dropout by counter: whether an element stays is a function of the member's
// seed and step, the micro-batch, the node's rng_key and the element's index
// in the value of one member. So the gradient is the same op on dy, nothing
// is saved, and recomputation draws the same mask.
#include "braid/base/error.h"
#include "braid/ops/build/functions.h"
#include "braid/ops/core/families.h"
#include "braid/ops/core/promotion.h"
#include "braid/ops/core/traits.h"

namespace braid {
namespace {

// Inputs x, p, seed, step (scalars, [B] in an array), micro (one scalar).
std::vector<ValueType> dropout_shape(const NodeView& v) {
  int64_t sets = std::max<int64_t>(v.members(), 1);
  expect_float(v);
  for (size_t i = 1; i < 4; ++i) {
    if (num_elements(v.shape(i)) != sets) {
      v.fail("input {} is {}, expected {} values", i, shape_text(v.shape(i)),
             sets);
    }
  }
  v.expect_members(0);
  if (v.dtype(1) != DType::kFloat64) v.fail("p must be f64");
  for (size_t i = 2; i < 5; ++i) {
    if (v.dtype(i) != DType::kInt64) v.fail("seed, step, micro must be i64");
  }
  return {v.type(0)};
}

void dropout_vjp(VjpContext& c) {
  Var dx = apply("dropout", {c.grad(0), c.in(1), c.in(2), c.in(3), c.in(4)},
                 c.attrs());
  Graph& graph = c.graph();
  graph.node(graph.value(dx.id).producer).rng_key = c.node().rng_key;
  c.give(0, dx);
}

void dropout_array(ArrayContext& c) {
  Attrs attrs = c.attrs();
  attrs.set("members", c.members());
  std::vector<Var> inputs;
  // The kernel walks through rates and counters: a shared one is spread out.
  for (size_t i = 0; i < 4; ++i) {
    bool is_spread = i > 0 && c.shared(i);
    inputs.push_back(is_spread ? apply("copy", {c.leading(i)}) : c.leading(i));
  }
  inputs.push_back(c.in(4));
  c.emit(0, apply("dropout", inputs, attrs), MemberAxis::kLeading);
}

// One number per element of `shape`: 1 / (1 - p) or 0. It hangs on the rate
// and not on x, so that no gradient is sought through it.
Var noise(const Shape& shape, const Draw& draw) {
  return dropout(full_like(draw.p, shape, 1), draw);
}

// x's shape with all but sample and channel 1.
Shape channel_shape(Var x, const char* where) {
  if (x.rank() < 2) {
    fail_usage("[{}] expected [N, C, ...], got {}", where,
               shape_text(x.shape()));
  }
  Shape shape(static_cast<size_t>(x.rank()), 1);
  shape[0] = x.dim(0);
  shape[1] = x.dim(1);
  return shape;
}

// Dropped elements become the lowest value of SELU; scale and shift keep
// mean and variance: y = a (x keep + low (1 - keep)) - a low p.
Var with_alpha(Var x, Var noise, const Draw& draw) {
  constexpr double kLow = -1.7580993408473766;
  Var stays = add_scalar(neg(draw.p), 1);
  Var keep = mul(noise, stays);
  Var spread = mul(add_scalar(mul_scalar(draw.p, kLow * kLow), 1), stays);
  Var a = div(full_like(draw.p, {}, 1), sqrt(spread));
  Var gone = add_scalar(neg(keep), 1);
  Var shift = mul_scalar(mul(sub(gone, draw.p), a), kLow);
  return add(mul(x, cast(mul(keep, a), x.dtype())), cast(shift, x.dtype()));
}

}  // namespace

Var dropout(Var x, const Draw& draw) {
  return apply("dropout", {x, draw.p, draw.seed, draw.step, draw.micro});
}

Var feature_dropout(Var x, const Draw& draw) {
  Var mask = noise(channel_shape(x, "feature_dropout"), draw);
  return mul(x, cast(mask, x.dtype()));
}

Var alpha_dropout(Var x, const Draw& draw) {
  return with_alpha(x, noise(x.shape(), draw), draw);
}

Var feature_alpha_dropout(Var x, const Draw& draw) {
  Shape shape = channel_shape(x, "feature_alpha_dropout");
  return with_alpha(x, noise(shape, draw), draw);
}

void add_dropout_ops(OpTable& table) {
  table.add({.name = "dropout",
             .summary = "x / (1 - p) with probability 1 - p, else 0",
             .kind = OpKind::kDropout,
             .min_inputs = 5,
             .max_inputs = 5,
             .shape = dropout_shape,
             .vjp = dropout_vjp,
             .array = dropout_array,
             .array_rule = ArrayRule::kMembers,
             .in_place = {{0, 0}},
             .random = true});
}

}  // namespace braid
