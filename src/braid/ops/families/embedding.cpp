// Table look-up. V rows, D columns.
#include "braid/ops/build/functions.h"
#include "braid/ops/core/families.h"
#include "braid/ops/core/traits.h"

namespace braid {
namespace {

std::vector<ValueType> embedding_shape(const NodeView& v) {
  bool batched = v.members() > 0;
  if (v.rank(0) != (batched ? 3 : 2))
    v.fail("the table has rank {}", v.rank(0));
  if (v.dtype(1) != DType::kInt64) {
    v.fail("indices are {}, expected i64", dtype_name(v.dtype(1)));
  }
  v.expect_members(0);
  v.expect_members(1);
  Shape shape = v.shape(1);
  shape.push_back(v.dim(0, -1));
  return {{v.dtype(0), shape}};
}

void embedding_vjp(VjpContext& c) {
  if (!c.needs(0)) return;
  Attrs attrs = c.attrs();
  attrs.set("shape", c.in(0).shape());
  c.give(0, apply("embedding_backward", {c.grad(0), c.in(1)}, attrs));
}

}  // namespace

void add_embedding_ops(OpTable& table) {
  table.add({.name = "embedding",
             .summary = "y[..., D] = table[V, D] at indices[...]",
             .kind = OpKind::kEmbedding,
             .min_inputs = 2,
             .max_inputs = 2,
             .shape = embedding_shape,
             .vjp = embedding_vjp,
             .array = array_members,
             .array_rule = ArrayRule::kMembers});
  table.add({.name = "embedding_backward",
             .summary = "rows of dy summed at their indices; the padding row "
                        "stays zero",
             .min_inputs = 2,
             .max_inputs = 2,
             .shape = [](const NodeView& v) -> std::vector<ValueType> {
               return {{v.dtype(0), v.attrs().ints("shape")}};
             }});
}

}  // namespace braid
