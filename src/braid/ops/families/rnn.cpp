// Pieces of recurrent layers (the layers themselves: rnn_functions.cpp).
// N samples, H hidden units; any leading dimensions, so members may lead.
#include "braid/ops/build/functions.h"
#include "braid/ops/core/families.h"
#include "braid/ops/core/traits.h"

namespace braid {
namespace {

// The first `gates` inputs are [..., factor * H], input `state` is [..., H].
void check_gates(const NodeView& v, size_t gates, int64_t factor,
                 size_t state) {
  Shape wide = v.shape(state);
  if (wide.empty()) v.fail("the state needs a dimension");
  wide.back() *= factor;
  for (size_t i = 0; i < gates; ++i) {
    if (v.shape(i) != wide || v.dtype(i) != v.dtype(state)) {
      v.fail("gates {} do not fit state {}", shape_text(v.shape(i)),
             shape_text(v.shape(state)));
    }
  }
}

void array_as_is(ArrayContext& c) { array_shifted(c, c.attrs()); }

std::vector<ValueType> lstm_cell_shape(const NodeView& v) {
  check_gates(v, 2, 4, 2);
  ValueType packed = v.type(2);
  packed.shape.back() *= 2;
  return {packed, v.type(0)};
}

void lstm_cell_vjp(VjpContext& c) {
  auto grads =
      apply_all("lstm_cell_backward", {c.grad(0), c.out(1), c.in(2), c.out(0)});
  for (size_t i = 0; i < 2; ++i) {
    if (c.needs(i)) c.give(i, grads[0]);
  }
  if (c.needs(2)) c.give(2, grads[1]);
}

std::vector<ValueType> gru_cell_shape(const NodeView& v) {
  check_gates(v, 2, 3, 2);
  return {v.type(2), v.type(0)};
}

void gru_cell_vjp(VjpContext& c) {
  auto grads =
      apply_all("gru_cell_backward", {c.grad(0), c.out(1), c.in(1), c.in(2)});
  for (size_t i = 0; i < 3; ++i) {
    if (c.needs(i)) c.give(i, grads[i]);
  }
}

void add_cells(OpTable& table) {
  table.add({.name = "lstm_cell",
             .summary =
                 "h' beside c'[..., 2H] and the gates i, f, g, o[..., 4H] "
                 "from the products of x and h[..., 4H] and c[..., H]",
             .min_inputs = 3,
             .max_inputs = 3,
             .shape = lstm_cell_shape,
             .vjp = lstm_cell_vjp,
             .array = array_as_is,
             .array_rule = ArrayRule::kShiftDims});
  table.add({.name = "lstm_cell_backward",
             .summary = "dgates, dc from (d(h', c'), gates, c, (h', c'))",
             .min_inputs = 4,
             .max_inputs = 4,
             .shape = [](const NodeView& v) -> std::vector<ValueType> {
               return {v.type(1), v.type(2)};
             }});
  table.add({.name = "gru_cell",
             .summary = "h' and the gates r, z, n[..., 3H] from the products "
                        "of x and h[..., 3H] and h[..., H]",
             .min_inputs = 3,
             .max_inputs = 3,
             .shape = gru_cell_shape,
             .vjp = gru_cell_vjp,
             .array = array_as_is,
             .array_rule = ArrayRule::kShiftDims});
  table.add({.name = "gru_cell_backward",
             .summary = "gradients of both products and h from (dh', gates, "
                        "product of h, h)",
             .min_inputs = 4,
             .max_inputs = 4,
             .shape = [](const NodeView& v) -> std::vector<ValueType> {
               return {v.type(1), v.type(1), v.type(3)};
             }});
}

}  // namespace

void add_rnn_ops(OpTable& table) { add_cells(table); }

std::vector<Var> time_steps(Var x) {
  if (x.dim(0) == 1) return {select(x, 0, 0)};
  int64_t half = x.dim(0) / 2;
  std::vector<Var> first = time_steps(slice(x, 0, 0, half));
  std::vector<Var> rest = time_steps(slice(x, 0, half, x.dim(0)));
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

Var stack_steps(std::vector<Var> steps, int64_t dim) {
  for (Var& x : steps) x = unsqueeze(x, dim);
  constexpr size_t kMost = 512;  // what one join takes comfortably
  while (steps.size() > 1) {
    std::vector<Var> joined;
    for (size_t i = 0; i < steps.size(); i += kMost) {
      size_t end = std::min(steps.size(), i + kMost);
      std::vector<Var> part(steps.begin() + static_cast<int64_t>(i),
                            steps.begin() + static_cast<int64_t>(end));
      joined.push_back(part.size() == 1 ? part[0] : cat(part, dim));
    }
    steps = std::move(joined);
  }
  return steps.at(0);
}

}  // namespace braid
