// Matrix products.
// M, K, N sizes of a product; I inputs, O outputs of a layer; B members.
#include "braid/ops/build/functions.h"
#include "braid/ops/core/families.h"
#include "braid/ops/core/traits.h"

namespace braid {
namespace {

std::vector<ValueType> matmul_shape(const NodeView& v) {
  if (v.rank(0) < 2 || v.rank(1) < 2) v.fail("operands need two dimensions");
  if (v.dtype(0) != v.dtype(1)) v.fail("operands differ in type");
  if (v.dim(0, -1) != v.dim(1, -2)) {
    v.fail("{} times {} does not fit", shape_text(v.shape(0)),
           shape_text(v.shape(1)));
  }
  Shape a(v.shape(0).begin(), v.shape(0).end() - 2);
  Shape b(v.shape(1).begin(), v.shape(1).end() - 2);
  Shape shape = broadcast_shapes(a, b, "matmul");
  shape.push_back(v.dim(0, -2));
  shape.push_back(v.dim(1, -1));
  return {{v.dtype(0), shape}};
}

void matmul_vjp(VjpContext& c) {
  Var a = c.in(0), b = c.in(1), dy = c.grad(0);
  if (c.needs(0)) {
    c.give(0, sum_to(matmul(dy, transpose(b, -1, -2)), a.shape()));
  }
  if (c.needs(1)) {
    c.give(1, sum_to(matmul(transpose(a, -1, -2), dy), b.shape()));
  }
}

// Members lead; operands of lower rank get ones after B.
void matmul_array(ArrayContext& c) {
  int64_t rank = std::max(c.one().rank(0), c.one().rank(1));
  auto aligned = [&](size_t i) {
    if (c.shared(i)) return c.in(i);
    Var x = c.leading(i);
    Shape shape = x.shape();
    shape.insert(shape.begin() + 1, static_cast<size_t>(rank + 1 - x.rank()),
                 1);
    return reshape(x, shape);
  };
  c.emit(0, matmul(aligned(0), aligned(1)), MemberAxis::kLeading);
}

// Each element of y is a sum over the last dimension of the first operand.
Cost product_cost(const NodeView& v) {
  auto y = static_cast<double>(num_elements(v.output(0).type.shape));
  return {2 * y * static_cast<double>(v.dim(0, -1)), 0};
}

Op matmul_op() {
  return {.name = "matmul",
          .summary = "y[..., M, N] = a[..., M, K] * b[..., K, N]",
          .kind = OpKind::kProduct,
          .min_inputs = 2,
          .max_inputs = 2,
          .shape = matmul_shape,
          .vjp = matmul_vjp,
          .array = matmul_array,
          .array_rule = ArrayRule::kOwn,
          .cost = product_cost};
}

// Of `linear`, in its epilogue: y = relu(x * w^T + b).
bool has_relu(const Attrs& attrs) { return attrs.has("activation"); }

std::vector<ValueType> linear_shape(const NodeView& v) {
  bool batched = v.members() > 0;
  if (has_relu(v.attrs()) && v.attrs().text("activation") != "relu") {
    v.fail("unknown activation '{}'", v.attrs().text("activation"));
  }
  if (v.rank(1) != (batched ? 3 : 2))
    v.fail("the weight has rank {}", v.rank(1));
  if (v.rank(0) < (batched ? 2 : 1)) v.fail("the input has rank {}", v.rank(0));
  if (v.dim(0, -1) != v.dim(1, -1) || v.dtype(0) != v.dtype(1)) {
    v.fail("input {} {} does not fit weight {} {}", dtype_name(v.dtype(0)),
           shape_text(v.shape(0)), dtype_name(v.dtype(1)),
           shape_text(v.shape(1)));
  }
  int64_t outputs = v.dim(1, -2);
  if (v.has(2) && (v.dim(2, -1) != outputs || v.dtype(2) != v.dtype(0) ||
                   num_elements(v.shape(2)) !=
                       outputs * std::max<int64_t>(v.members(), 1))) {
    v.fail("bias {} does not fit {} outputs", shape_text(v.shape(2)), outputs);
  }
  v.expect_members(0);
  v.expect_members(1);
  Shape shape = v.shape(0);
  shape.back() = outputs;
  return {{v.dtype(0), shape}};
}

// x as [rows, I], or [B, rows, I] in an array.
Var flat_rows(Var x, int64_t members) {
  Shape lead(x.shape().begin() + (members > 0 ? 1 : 0), x.shape().end() - 1);
  int64_t rows = num_elements(lead);
  if (members == 0) return reshape(x, {rows, x.dim(-1)});
  return reshape(x, {members, rows, x.dim(-1)});
}

void linear_vjp(VjpContext& c) {
  int64_t members = c.attrs().integer_or("members", 0);
  Var x = c.in(0), w = c.in(1);
  Var dy = c.grad(0);
  if (has_relu(c.attrs())) dy = apply("relu_backward", {dy, c.out(0)});
  dy = flat_rows(dy, members);
  if (c.needs(0)) c.give(0, reshape(matmul(dy, w), x.shape()));
  if (c.needs(1)) {
    c.give(1, matmul(transpose(dy, -1, -2), flat_rows(x, members)));
  }
  if (c.needs(2)) {
    c.give(2, reshape(sum(dy, {members > 0 ? 1 : 0}), c.in(2).shape()));
  }
}

Cost linear_cost(const NodeView& v) {
  Cost cost = product_cost(v);
  if (has_relu(v.attrs())) {
    cost.flops += static_cast<double>(num_elements(v.output(0).type.shape));
  }
  return cost;
}

// A shared input makes one dense product with B * O outputs.
void linear_array(ArrayContext& c) {
  if (!c.shared(0)) return array_members(c);
  Var y = apply("linear", {c.in(0), c.rows(1), c.rows(2)}, c.attrs());
  if (y.rank() == 2) return c.emit(0, y, MemberAxis::kMerged);
  Shape split = y.shape();
  split.back() /= c.members();
  split.insert(split.end() - 1, c.members());
  Ints order;
  for (int64_t d = 0; d <= y.rank(); ++d) {
    if (d != y.rank() - 1) order.push_back(d);
  }
  order.insert(order.begin(), y.rank() - 1);
  c.emit(0, permute(reshape(y, split), order), MemberAxis::kLeading);
}

Op linear_op() {
  return {.name = "linear",
          .summary = "y[..., O] = x[..., I] * w[O, I]^T + b[O], or relu of it",
          .kind = OpKind::kProduct,
          .min_inputs = 2,
          .max_inputs = 3,
          .shape = linear_shape,
          .vjp = linear_vjp,
          .array = linear_array,
          .array_rule = ArrayRule::kOwn,
          .cost = linear_cost};
}

}  // namespace

void add_matmul_ops(OpTable& table) {
  table.add(matmul_op());
  table.add(linear_op());
}

}  // namespace braid
