// Values from nothing: ranges, unit matrices; and counts of values. Factories
// look at their input for the graph alone; attribute `dtype` is their type.
#include <cmath>

#include "braid/ops/build/functions.h"
#include "braid/ops/core/dim_rules.h"
#include "braid/ops/core/families.h"
#include "braid/ops/core/traits.h"

namespace braid {
namespace {

int64_t range_length(const NodeView& v) {
  double start = v.attrs().number("start"), end = v.attrs().number("end");
  double step = v.attrs().number("step");
  double length = std::ceil((end - start) / step);
  if (!std::isfinite(length) || length < 0 || length > 1e15) {
    v.fail("no steps of {} from {} to {}", step, start, end);
  }
  return static_cast<int64_t>(length);
}

int64_t size_attr(const NodeView& v, const char* name) {
  int64_t size = v.attrs().integer(name);
  if (size < 0) v.fail("'{}' is {}", name, size);
  return size;
}

// One value for all members.
void array_shared(ArrayContext& c) {
  c.emit(0, apply(*c.one().node().op, {c.in(0)}, c.attrs()),
         MemberAxis::kShared);
}

Op factory_op(std::string name, std::string summary,
              const std::function<Shape(const NodeView&)>& shape) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .shape = [shape](const NodeView& v) -> std::vector<ValueType> {
            return {{given_dtype(v), shape(v)}};
          },
          .vjp = no_gradient,
          .array = array_shared,
          .array_rule = ArrayRule::kOwn,
          .ignores_inputs = true};
}

// Members in front of the counted dimensions are not touched.
void array_leading(ArrayContext& c) { array_shifted(c, c.attrs()); }

Shape last_replaced(const NodeView& v, int64_t size) {
  if (v.rank(0) == 0) v.fail("the input is a scalar");
  Shape shape = v.shape(0);
  shape.back() = size;
  return shape;
}

std::vector<ValueType> one_hot_shape(const NodeView& v) {
  expect_indices(v, 0);
  Shape shape = v.shape(0);
  shape.push_back(size_attr(v, "classes"));
  return {{DType::kInt64, shape}};
}

std::vector<ValueType> bincount_shape(const NodeView& v) {
  expect_indices(v, 0);
  return {{DType::kInt64, last_replaced(v, size_attr(v, "size"))}};
}

std::vector<ValueType> histc_shape(const NodeView& v) {
  if (v.dtype(0) == DType::kBool || is_complex(v.dtype(0))) {
    v.fail("{} has no bins", dtype_name(v.dtype(0)));
  }
  double low = v.attrs().number("min"), high = v.attrs().number("max");
  if (!(low < high)) v.fail("a range from {} to {} depends on data", low, high);
  int64_t bins = size_attr(v, "bins");
  if (bins == 0) v.fail("needs a bin");
  return {{v.dtype(0), last_replaced(v, bins)}};
}

std::string name_of(DType dtype) { return std::string(dtype_name(dtype)); }

}  // namespace

void add_factory_ops(OpTable& table) {
  table.add(
      factory_op("arange", "start, start + step, ... before end",
                 [](const NodeView& v) { return Shape{range_length(v)}; }));
  table.add(factory_op(
      "linspace", "steps numbers from start to end",
      [](const NodeView& v) { return Shape{size_attr(v, "steps")}; }));
  table.add(
      factory_op("eye", "1 on the diagonal of [rows, columns], else 0",
                 [](const NodeView& v) {
                   return Shape{size_attr(v, "rows"), size_attr(v, "columns")};
                 }));
  table.add({.name = "one_hot",
             .summary = "y[..., K] = 1 at the class, else 0",
             .shape = one_hot_shape,
             .array = array_leading,
             .array_rule = ArrayRule::kShiftDims});
  table.add({.name = "bincount",
             .summary = "how often each of 0 .. size - 1 is in the last dim",
             .shape = bincount_shape,
             .array = array_leading,
             .array_rule = ArrayRule::kShiftDims});
  table.add({.name = "histc",
             .summary = "how many of the last dim lie in each of equal bins",
             .shape = histc_shape,
             .vjp = no_gradient,
             .array = array_leading,
             .array_rule = ArrayRule::kShiftDims});
}

Var arange(Var like, double start, double end, double step, DType dtype) {
  return apply("arange", {like},
               {{"start", start},
                {"end", end},
                {"step", step},
                {"dtype", name_of(dtype)}});
}

Var linspace(Var like, double start, double end, int64_t steps, DType dtype) {
  return apply("linspace", {like},
               {{"start", start},
                {"end", end},
                {"steps", steps},
                {"dtype", name_of(dtype)}});
}

Var eye(Var like, int64_t rows, int64_t columns, DType dtype) {
  return apply(
      "eye", {like},
      {{"rows", rows}, {"columns", columns}, {"dtype", name_of(dtype)}});
}

Var full(Var like, Shape shape, double value, DType dtype) {
  return apply("full", {like},
               {{"shape", std::move(shape)},
                {"value", value},
                {"dtype", name_of(dtype)}});
}

Var one_hot(Var x, int64_t classes) {
  return apply("one_hot", {cast(x, DType::kInt64)}, {{"classes", classes}});
}

Var bincount(Var x, int64_t size) {
  return apply("bincount", {reshape(cast(x, DType::kInt64), {-1})},
               {{"size", size}});
}

Var histc(Var x, int64_t bins, double min, double max) {
  return apply("histc", {reshape(x, {-1})},
               {{"bins", bins}, {"min", min}, {"max", max}});
}

}  // namespace braid
