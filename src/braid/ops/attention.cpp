// Attention of every head apart. N batch, H heads, T queries, S keys, D, E
// sizes of a head.
#include <cmath>

#include "braid/ops/families.h"
#include "braid/ops/functions.h"
#include "braid/ops/traits.h"

namespace braid {
namespace {

std::vector<ValueType> attention_shape(const NodeView& v) {
  const Shape &q = v.shape(0), &k = v.shape(1), &w = v.shape(2);
  bool fits = q.size() == 4 && k.size() == 4 && w.size() == 4 && q[0] == k[0] &&
              k[0] == w[0] && q[1] == k[1] && k[1] == w[1] && q[3] == k[3] &&
              k[2] == w[2] && v.dtype(0) == v.dtype(1) &&
              v.dtype(0) == v.dtype(2);
  if (!fits) {
    v.fail("q {}, k {}, v {} do not fit", shape_text(q), shape_text(k),
           shape_text(w));
  }
  return {{v.dtype(0), {q[0], q[1], q[2], w[3]}},
          {v.dtype(0), {q[0], q[1], q[2]}}};
}

// [N, T, H, E] in memory, so that joining the heads is a view.
Strides heads_last_strides(const NodeView& v) {
  const Shape& y = v.output(0).type.shape;
  return {y[2] * y[1] * y[3], y[3], y[1] * y[3], 1};
}

void attention_vjp(VjpContext& c) {
  auto grads = apply_all(
      "scaled_dot_product_attention_backward",
      {c.grad(0), c.in(0), c.in(1), c.in(2), c.out(0), c.out(1)}, c.attrs());
  for (size_t i = 0; i < 3; ++i) {
    if (c.needs(i)) c.give(i, grads[i]);
  }
}

// Products over D and over E, each of T queries and S keys per head.
Cost attention_cost(const Shape& q, const Shape& v, int64_t over_d,
                    int64_t over_e) {
  auto pairs = static_cast<double>(q[0] * q[1] * q[2] * v[2]);
  return {2 * pairs * static_cast<double>(over_d * q[3] + over_e * v[3]), 0};
}

}  // namespace

void add_attention_ops(OpTable& table) {
  table.add({.name = "scaled_dot_product_attention",
             .summary = "softmax(q k^T / sqrt(D)) v; also logsumexp[N, H, T]",
             .min_inputs = 3,
             .max_inputs = 3,
             .shape = attention_shape,
             .vjp = attention_vjp,
             .array = array_folded,
             .trait = "fold_batch",
             .cost =
                 [](const NodeView& v) {
                   return attention_cost(v.shape(0), v.shape(2), 1, 1);
                 },
             .strides = heads_last_strides});
  table.add({.name = "scaled_dot_product_attention_backward",
             .summary = "dq, dk, dv from (dy, q, k, v, y, logsumexp)",
             .min_inputs = 6,
             .max_inputs = 6,
             .shape = [](const NodeView& v) -> std::vector<ValueType> {
               if (v.rank(1) != 4 || v.rank(2) != 4 || v.rank(3) != 4) {
                 v.fail("q, k and v need rank 4");
               }
               return {v.type(1), v.type(2), v.type(3)};
             },
             .cost =
                 [](const NodeView& v) {
                   return attention_cost(v.shape(1), v.shape(3), 3, 2);
                 }});
}

}  // namespace braid
