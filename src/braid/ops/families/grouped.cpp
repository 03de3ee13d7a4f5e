// Products of groups of rows, each group with a matrix of its own: experts of
// a mixture, whose rows are sorted by expert.
// S rows of all groups, E groups, K, M, N sizes of a product. offsets[E] tell
// where each group ends among the rows; a group may be empty, and rows after
// the last group belong to none.
#include "braid/base/error.h"
#include "braid/ops/build/functions.h"
#include "braid/ops/core/dim_rules.h"
#include "braid/ops/core/families.h"
#include "braid/ops/core/traits.h"

namespace braid {
namespace {

// Ranks without the axis of members, one type, ends of groups as numbers.
void check_operands(const NodeView& v, int64_t a_rank, int64_t b_rank) {
  int64_t lead = v.members() > 0 ? 1 : 0;
  for (size_t i = 0; i < 3; ++i) v.expect_members(i);
  if (v.rank(0) != a_rank + lead || v.rank(1) != b_rank + lead) {
    v.fail("operands have ranks {} and {}, expected {} and {}",
           v.rank(0) - lead, v.rank(1) - lead, a_rank, b_rank);
  }
  if (v.dtype(0) != v.dtype(1) || !is_floating(v.dtype(0))) {
    v.fail("operands are {} and {}, expected one type of floats",
           dtype_name(v.dtype(0)), dtype_name(v.dtype(1)));
  }
  DType ends = v.dtype(2);
  if (v.rank(2) != 1 + lead ||
      (ends != DType::kInt32 && ends != DType::kInt64)) {
    v.fail("offsets are {}{}, expected i32 or i64 of rank 1", dtype_name(ends),
           shape_text(v.shape(2)));
  }
}

[[noreturn]] void fail_sizes(const NodeView& v) {
  v.fail("{} times {} in groups of {} does not fit", shape_text(v.shape(0)),
         shape_text(v.shape(1)), shape_text(v.shape(2)));
}

std::vector<ValueType> rows_shape(const NodeView& v) {
  check_operands(v, 2, 3);
  if (v.dim(0, -1) != v.dim(1, -2) || v.dim(1, -3) != v.dim(2, -1)) {
    fail_sizes(v);
  }
  Shape shape = v.shape(0);
  shape.back() = v.dim(1, -1);
  return {{v.dtype(0), shape}};
}

std::vector<ValueType> contract_shape(const NodeView& v) {
  check_operands(v, 2, 2);
  if (v.dim(0, -1) != v.dim(1, -2)) fail_sizes(v);
  Shape shape = v.shape(2);
  shape.push_back(v.dim(0, -2));
  shape.push_back(v.dim(1, -1));
  return {{v.dtype(0), shape}};
}

Var swapped(Var x) { return transpose(x, -1, -2); }

Var grouped(const char* op, VjpContext& c, Var a, Var b) {
  return apply(op, {a, b, c.in(2)}, c.attrs());
}

void rows_vjp(VjpContext& c) {
  Var a = c.in(0), b = c.in(1), dy = c.grad(0);
  if (c.needs(0)) c.give(0, grouped("grouped_mm", c, dy, swapped(b)));
  if (c.needs(1)) c.give(1, grouped("grouped_mm_contract", c, swapped(a), dy));
}

void contract_vjp(VjpContext& c) {
  Var a = c.in(0), b = c.in(1), dy = c.grad(0);
  if (c.needs(0)) {
    c.give(0, swapped(grouped("grouped_mm", c, b, swapped(dy))));
  }
  if (c.needs(1)) c.give(1, grouped("grouped_mm", c, swapped(a), dy));
}

// As if every row had a group: how they are shared out is not known here.
Cost rows_cost(const NodeView& v) {
  return {2 * to_number(num_elements(v.output(0).type.shape)) *
              to_number(v.dim(0, -1)),
          0};
}

Cost contract_cost(const NodeView& v) {
  return {2 * to_number(num_elements(v.shape(0))) * to_number(v.dim(1, -1)), 0};
}

// Members differ in where groups end, so the kernel goes through them.
Op grouped_op(std::string name, std::string summary, Op::ShapeRule shape,
              std::function<void(VjpContext&)> vjp,
              std::function<Cost(const NodeView&)> cost) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .min_inputs = 3,
          .max_inputs = 3,
          .shape = std::move(shape),
          .vjp = std::move(vjp),
          .array = array_members,
          .array_rule = ArrayRule::kMembers,
          .cost = std::move(cost),
          .reads_on_host = true};
}

}  // namespace

void add_grouped_ops(OpTable& table) {
  table.add(grouped_op("grouped_mm",
                       "y[S, N] = a[S, K] * b[E, K, N], each row with the "
                       "matrix of its group; 0 in rows of none",
                       rows_shape, rows_vjp, rows_cost));
  table.add(grouped_op("grouped_mm_contract",
                       "y[E, M, N] = a[M, S] * b[S, N], summed over the rows "
                       "of each group",
                       contract_shape, contract_vjp, contract_cost));
}

// What is given transposed lies as it is: kernels read any strides.
Var grouped_mm(Var a, Var b, Var offsets) {
  if (a.rank() == 3 && b.rank() == 3) {
    if (offsets) fail_usage("[grouped_mm] batches have no offsets");
    return bmm(a, b);
  }
  if (!offsets) fail_usage("[grouped_mm] rows in groups need offsets");
  if (a.rank() == 3 && b.rank() == 2) {
    return swapped(apply("grouped_mm", {swapped(b), swapped(a), offsets}));
  }
  bool contracts = a.rank() == 2 && b.rank() == 2;
  return apply(contracts ? "grouped_mm_contract" : "grouped_mm",
               {a, b, offsets});
}

}  // namespace braid
