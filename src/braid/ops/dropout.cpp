// Dropout by counter: whether an element stays is a function of the member's
// seed and step, the micro-batch, the node's rng_key and the element's index
// in the value of one member. So the gradient is the same op on dy, nothing
// is saved, and recomputation draws the same mask.
#include "braid/ops/families.h"
#include "braid/ops/traits.h"

namespace braid {
namespace {

// Inputs x, p, seed, step (scalars, [B] in an array), micro (one scalar).
std::vector<ValueType> dropout_shape(const NodeView& v) {
  int64_t sets = std::max<int64_t>(v.members(), 1);
  if (v.dtype(0) != DType::kFloat32 && v.dtype(0) != DType::kFloat64) {
    v.fail("x is {}, expected f32 or f64", dtype_name(v.dtype(0)));
  }
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
  for (size_t i = 0; i < 4; ++i) inputs.push_back(c.leading(i));
  inputs.push_back(c.in(4));
  c.emit(0, apply("dropout", inputs, attrs), Layout::kLeading);
}

}  // namespace

void add_dropout_ops(OpTable& table) {
  table.add({.name = "dropout",
             .summary = "x / (1 - p) with probability 1 - p, else 0",
             .min_inputs = 5,
             .max_inputs = 5,
             .shape = dropout_shape,
             .vjp = dropout_vjp,
             .array = dropout_array,
             .trait = "members",
             .in_place = {{0, 0}},
             .random = true});
}

}  // namespace braid
