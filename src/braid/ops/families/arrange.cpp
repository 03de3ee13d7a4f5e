// Rearrangements that move or drop entries.
#include <algorithm>

#include "braid/ops/build/functions.h"
#include "braid/ops/core/dim_rules.h"
#include "braid/ops/core/families.h"
#include "braid/ops/core/traits.h"

namespace braid {
namespace {

std::vector<ValueType> listed_dims_shape(const NodeView& v) {
  for (int64_t d : v.attrs().ints("dims")) {
    if (d < 0 || d >= v.rank(0)) v.fail("dimension {} is outside", d);
  }
  return {v.type(0)};
}

std::vector<ValueType> flip_shape(const NodeView& v) {
  Ints dims = v.attrs().ints("dims");
  std::sort(dims.begin(), dims.end());
  if (std::adjacent_find(dims.begin(), dims.end()) != dims.end()) {
    v.fail("a dimension is listed twice");
  }
  return listed_dims_shape(v);
}

std::vector<ValueType> roll_shape(const NodeView& v) {
  if (v.attrs().ints("shifts").size() != v.attrs().ints("dims").size()) {
    v.fail("as many shifts as dims are needed");
  }
  return listed_dims_shape(v);
}

std::vector<ValueType> triangle_shape(const NodeView& v) {
  if (v.rank(0) < 2) v.fail("the input needs two dimensions");
  v.attrs().integer("diagonal");
  return {v.type(0)};
}

void array_dims(ArrayContext& c) {
  Attrs attrs = c.attrs();
  attrs.set("dims", shift_dims(attrs.ints("dims")));
  array_shifted(c, attrs);
}

void roll_vjp(VjpContext& c) {
  Attrs attrs = c.attrs();
  Ints shifts = attrs.ints("shifts");
  for (int64_t& shift : shifts) shift = -shift;
  c.give(0, apply("roll", {c.grad(0)}, attrs.set("shifts", shifts)));
}

Op triangle_op(const std::string& name, std::string summary) {
  return {.name = name,
          .summary = std::move(summary),
          .shape = triangle_shape,
          .vjp =
              [name](VjpContext& c) {
                c.give(0, apply(name, {c.grad(0)}, c.attrs()));
              },
          .array = [](ArrayContext& c) { array_shifted(c, c.attrs()); },
          .array_rule = ArrayRule::kShiftDims};
}

// Where a diagonal of [.., rows, columns] begins and how long it is.
struct Diagonal {
  size_t rows, columns;  // which dimensions
  int64_t first_row, first_column, length;
};

Diagonal find_diagonal(const NodeView& v) {
  const Ints& dims = v.attrs().ints("dims");
  if (dims.size() != 2 || dims[0] == dims[1]) v.fail("needs two dimensions");
  for (int64_t d : dims) {
    if (d < 0 || d >= v.rank(0)) v.fail("dimension {} is outside", d);
  }
  int64_t offset = v.attrs().integer("offset");
  int64_t row = std::max<int64_t>(-offset, 0);
  int64_t column = std::max<int64_t>(offset, 0);
  int64_t length =
      std::min(v.dim(0, dims[0]) - row, v.dim(0, dims[1]) - column);
  return {static_cast<size_t>(dims[0]), static_cast<size_t>(dims[1]), row,
          column, std::max<int64_t>(length, 0)};
}

// A list without the two dimensions of a diagonal, and one more at the end.
Ints with_diagonal(const Ints& list, const Diagonal& d, int64_t last) {
  Ints result;
  for (size_t i = 0; i < list.size(); ++i) {
    if (i != d.rows && i != d.columns) result.push_back(list[i]);
  }
  result.push_back(last);
  return result;
}

std::optional<View> diagonal_view(const NodeView& v) {
  Diagonal d = find_diagonal(v);
  const Strides& strides = v.value(0).strides;
  int64_t row = strides[d.rows], column = strides[d.columns];
  View view{with_diagonal(strides, d, row + column), v.value(0).offset};
  if (d.length > 0) {
    view.offset += d.first_row * row + d.first_column * column;
  }
  return view;
}

Op diagonal_op() {
  return {.name = "diagonal",
          .summary = "a diagonal of two dims, as a new last dim",
          .shape = [](const NodeView& v) -> std::vector<ValueType> {
            Diagonal d = find_diagonal(v);
            return {{v.dtype(0), with_diagonal(v.shape(0), d, d.length)}};
          },
          .vjp =
              [](VjpContext& c) {
                c.give(0, apply("diagonal_backward", {c.grad(0)},
                                with_input_shape(c)));
              },
          .array = array_dims,
          .array_rule = ArrayRule::kShiftDims,
          .view = diagonal_view};
}

Ints normalized(Var x, Ints dims, const char* where) {
  for (int64_t& d : dims) d = normalize_dim(d, x.rank(), where);
  return x.rank() == 0 ? Ints{} : dims;
}

}  // namespace

void add_arrange_ops(OpTable& table) {
  table.add({.name = "flip",
             .summary = "dims backwards",
             .shape = flip_shape,
             .vjp =
                 [](VjpContext& c) {
                   c.give(0, apply("flip", {c.grad(0)}, c.attrs()));
                 },
             .array = array_dims,
             .array_rule = ArrayRule::kShiftDims});
  table.add({.name = "roll",
             .summary = "dims shifted round",
             .shape = roll_shape,
             .vjp = roll_vjp,
             .array = array_dims,
             .array_rule = ArrayRule::kShiftDims});
  table.add(triangle_op("tril", "0 above a diagonal of the last two dims"));
  table.add(triangle_op("triu", "0 below a diagonal of the last two dims"));
  table.add(diagonal_op());
  table.add({.name = "diagonal_backward",
             .summary = "dy in a value of zeros, on the diagonal",
             .shape = given_shape});
}

Var flip(Var x, Ints dims) {
  return apply("flip", {x}, {{"dims", normalized(x, std::move(dims), "flip")}});
}

Var roll(Var x, Ints shifts, Ints dims) {
  if (dims.empty())
    return reshape(roll(reshape(x, {-1}), shifts, {0}), x.shape());
  dims = normalized(x, std::move(dims), "roll");
  if (x.rank() == 0) return x;
  return apply("roll", {x}, {{"shifts", std::move(shifts)}, {"dims", dims}});
}

Var tril(Var x, int64_t diagonal) {
  return apply("tril", {x}, {{"diagonal", diagonal}});
}

Var triu(Var x, int64_t diagonal) {
  return apply("triu", {x}, {{"diagonal", diagonal}});
}

Var diagonal(Var x, int64_t offset, int64_t dim1, int64_t dim2) {
  Ints dims{normalize_dim(dim1, x.rank(), "diagonal"),
            normalize_dim(dim2, x.rank(), "diagonal")};
  return apply("diagonal", {x}, {{"offset", offset}, {"dims", dims}});
}

}  // namespace braid
