// Comparisons, logic, bits, and choices between values. Only choices have
// gradients.
#include "braid/ops/build/functions.h"
#include "braid/ops/core/families.h"
#include "braid/ops/core/promotion.h"
#include "braid/ops/core/traits.h"

namespace braid {
namespace {

std::vector<ValueType> bool_type(const NodeView& v) {
  return {{DType::kBool, common_shape(v)}};
}

std::vector<ValueType> bool_scalar_type(const NodeView& v) {
  if (!v.attrs().has("value")) v.fail("there is no value");
  return {{DType::kBool, v.shape(0)}};
}

DType bits_dtype(const NodeView& v) {
  DType dtype = common_dtype(v, 0, {"value"});
  expect_integer(v, dtype);
  return dtype;
}

std::vector<ValueType> bits_type(const NodeView& v) {
  return {{bits_dtype(v), common_shape(v)}};
}

std::vector<ValueType> shift_type(const NodeView& v) {
  expect_no_bool(v, bits_dtype(v));
  return bits_type(v);
}

void add_comparisons(OpTable& table) {
  const std::pair<const char*, const char*> rows[] = {
      {"eq", "a == b"}, {"ne", "a != b"}, {"lt", "a < b"},
      {"le", "a <= b"}, {"gt", "a > b"},  {"ge", "a >= b"},
  };
  for (auto [name, summary] : rows) {
    table.add(pointwise_op(name, summary, 2, bool_type));
    table.add(pointwise_op(name + std::string("_scalar"),
                           summary + std::string(" with b the value"), 1,
                           bool_scalar_type));
  }
  table.add(pointwise_op("isnan", "whether x is no number", 1, bool_type));
  table.add(pointwise_op("isinf", "whether x is infinite", 1, bool_type));
  table.add(pointwise_op("isfinite", "whether x is finite", 1, bool_type));
}

void add_logic(OpTable& table) {
  table.add(pointwise_op("logical_and", "a and b", 2, bool_type));
  table.add(pointwise_op("logical_or", "a or b", 2, bool_type));
  table.add(pointwise_op("logical_xor", "either a or b", 2, bool_type));
  table.add(pointwise_op("logical_not", "not x", 1, bool_type));
}

void add_bits(OpTable& table) {
  struct Row {
    const char *name, *summary;
    std::vector<ValueType> (*type)(const NodeView&);
  };
  const Row rows[] = {
      {"bitwise_and", "bits of a and b", bits_type},
      {"bitwise_or", "bits of a or b", bits_type},
      {"bitwise_xor", "bits of either a or b", bits_type},
      {"bitwise_left_shift", "a * 2^b", shift_type},
      {"bitwise_right_shift", "a / 2^b, rounded down", shift_type},
  };
  for (const Row& row : rows) {
    table.add(pointwise_op(row.name, row.summary, 2, row.type));
    table.add(pointwise_op(row.name + std::string("_scalar"),
                           row.summary + std::string(" with b the value"), 1,
                           row.type));
  }
  table.add(pointwise_op("bitwise_not", "all bits turned", 1, bits_type));
}

// Each side is an input or, where that is missing, a number.
std::vector<ValueType> where_type(const NodeView& v) {
  if (v.dtype(0) != DType::kBool) v.fail("the condition is no bool");
  if (v.has(1) == v.attrs().has("self") || v.has(2) == v.attrs().has("other")) {
    v.fail("needs one value for each side");
  }
  return {{common_dtype(v, 1, {"self", "other"}), common_shape(v)}};
}

Op where_op() {
  Op op = pointwise_op("where", "a where the condition holds, else b", 3,
                       where_type, [](VjpContext& c) {
                         if (c.needs(1))
                           give_summed(c, 1, where(c.in(0), c.grad(0), 0.0));
                         if (c.needs(2))
                           give_summed(c, 2, where(c.in(0), 0.0, c.grad(0)));
                       });
  op.min_inputs = 1;
  op.array = [](ArrayContext& c) { array_promoted(c, 1, {"self", "other"}); };
  return op;
}

// x stays what it is; mask and value broadcast with it.
std::vector<ValueType> masked_fill_type(const NodeView& v) {
  if (v.dtype(1) != DType::kBool) v.fail("the mask is no bool");
  if (v.count() == 2) v.attrs().number("value");
  Shape shape =
      broadcast_shapes(v.shape(0), v.shape(1), v.node().op->name.c_str());
  if (common_shape(v) != shape) {
    v.fail("value {} is larger than {}", shape_text(v.shape(2)),
           shape_text(shape));
  }
  return {{v.dtype(0), shape}};
}

Op masked_fill_op(std::string name, std::string summary, size_t inputs) {
  Op op = pointwise_op(std::move(name), std::move(summary), inputs,
                       masked_fill_type, [](VjpContext& c) {
                         Var dy = c.grad(0), mask = c.in(1);
                         if (c.needs(0))
                           give_summed(c, 0, masked_fill(dy, mask, 0.0));
                         if (c.needs(2))
                           give_summed(c, 2, where(mask, dy, 0.0));
                       });
  op.array = array_pointwise;
  return op;
}

}  // namespace

void add_compare_ops(OpTable& table) {
  add_comparisons(table);
  add_logic(table);
  add_bits(table);
  table.add(where_op());
  table.add(
      masked_fill_op("masked_fill", "b[] where the mask holds, else x", 3));
  table.add(masked_fill_op("masked_fill_scalar",
                           "the value where the mask holds, else x", 2));
}

}  // namespace braid
