// Attention of every head apart. N batch, H heads, T queries, S keys, D, E
// sizes of a head. A mask is bool (false: not seen) or of q's type (added to
// the scores) and broadcasts to [N, H, T, S]. Rows that see nothing are 0.
#include "braid/ops/build/functions.h"
#include "braid/ops/core/families.h"
#include "braid/ops/core/traits.h"

namespace braid {
namespace {

// The mask, input i, must broadcast to the scores.
void check_mask(const NodeView& v, size_t i, const Shape& scores) {
  if (!v.has(i)) return;
  if (v.dtype(i) != DType::kBool && v.dtype(i) != v.dtype(0)) {
    v.fail("the mask is {}, expected bool or {}", dtype_name(v.dtype(i)),
           dtype_name(v.dtype(0)));
  }
  if (v.rank(i) != 4 ||
      broadcast_shapes(v.shape(i), scores, "attention") != scores) {
    v.fail("the mask {} does not expand to {}", shape_text(v.shape(i)),
           shape_text(scores));
  }
  if (v.attrs().flag_or("is_causal", false)) {
    v.fail("a causal call takes no mask");
  }
}

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
  check_mask(v, 3, {q[0], q[1], q[2], k[2]});
  // A rounded logsumexp would be off by as much as a weight itself.
  DType sums = std::max(v.dtype(0), DType::kFloat32);
  return {{v.dtype(0), {q[0], q[1], q[2], w[3]}}, {sums, {q[0], q[1], q[2]}}};
}

// [N, T, H, E] in memory, so that joining the heads is a view.
Strides heads_last_strides(const NodeView& v) {
  const Shape& y = v.output(0).type.shape;
  return {y[2] * y[1] * y[3], y[3], y[1] * y[3], 1};
}

void attention_vjp(VjpContext& c) {
  Attrs attrs = c.attrs();
  std::vector<Var> inputs{c.grad(0), c.in(0),  c.in(1),
                          c.in(2),   c.out(0), c.out(1)};
  if (c.has(3)) inputs.push_back(c.in(3));
  if (c.needs(3)) attrs.set("mask_grad", true);
  auto grads =
      apply_all("scaled_dot_product_attention_backward", inputs, attrs);
  for (size_t i = 0; i < 4; ++i) {
    if (c.needs(i)) c.give(i, grads[i]);
  }
}

std::vector<ValueType> attention_backward_shape(const NodeView& v) {
  if (v.rank(1) != 4 || v.rank(2) != 4 || v.rank(3) != 4) {
    v.fail("q, k and v need rank 4");
  }
  std::vector<ValueType> types{v.type(1), v.type(2), v.type(3)};
  if (v.attrs().flag_or("mask_grad", false)) types.push_back(v.type(6));
  return types;
}

// Products over D and over E, each of T queries and S keys per head.
Cost attention_cost(const Shape& q, const Shape& v, int64_t over_d,
                    int64_t over_e) {
  auto pairs = static_cast<double>(q[0] * q[1] * q[2] * v[2]);
  return {2 * pairs * static_cast<double>(over_d * q[3] + over_e * v[3]), 0};
}

Var fold(Var x) {
  Shape shape(x.shape().begin() + 1, x.shape().end());
  shape[0] *= x.dim(0);
  return reshape(x, shape);
}

// A mask for [B * N, H, T, S]: as it is when all members and samples share
// it, else repeated for the samples of each member.
Var folded_mask(ArrayContext& c, size_t i, int64_t batch) {
  if (c.shared(i) && c.in(i).dim(0) == 1) return c.in(i);
  Var mask = c.leading(i);
  Shape shape = mask.shape();
  shape[1] = batch;
  return fold(expand(mask, shape));
}

// Members join the batch; the mask is the last input, at `mask`.
void array_heads(ArrayContext& c, size_t mask) {
  std::vector<Var> inputs;
  for (size_t i = 0; i < mask; ++i) inputs.push_back(fold(c.leading(i)));
  if (c.has(mask)) {
    inputs.push_back(folded_mask(c, mask, c.one().dim(0, 0)));
  }
  auto outputs = apply_all(*c.one().node().op, inputs, c.attrs());
  for (size_t i = 0; i < outputs.size(); ++i) {
    Shape shape = outputs[i].shape();
    shape[0] /= c.members();
    shape.insert(shape.begin(), c.members());
    c.emit(i, reshape(outputs[i], shape), MemberAxis::kLeading);
  }
}

void add_attention(OpTable& table) {
  table.add({.name = "scaled_dot_product_attention",
             .summary = "softmax(q k^T * scale + mask) v, scale 1 / sqrt(D) "
                        "unless given; also logsumexp[N, H, T]",
             .min_inputs = 3,
             .max_inputs = 4,
             .shape = attention_shape,
             .vjp = attention_vjp,
             .array = [](ArrayContext& c) { array_heads(c, 3); },
             .array_rule = ArrayRule::kFoldBatch,
             .cost =
                 [](const NodeView& v) {
                   return attention_cost(v.shape(0), v.shape(2), 1, 1);
                 },
             .strides = heads_last_strides});
  table.add({.name = "scaled_dot_product_attention_backward",
             .summary = "dq, dk, dv from (dy, q, k, v, y, logsumexp, mask); "
                        "with mask_grad also the mask's gradient",
             .min_inputs = 6,
             .max_inputs = 7,
             .shape = attention_backward_shape,
             .cost = [](const NodeView& v) {
               return attention_cost(v.shape(1), v.shape(3), 3, 2);
             }});
}

// The weights alone, for attention with dropout on them.
void add_attention_softmax(OpTable& table) {
  table.add({.name = "attention_softmax",
             .summary = "p[N, H, T, S] = softmax(scores * scale + mask), "
                        "0 where a row sees nothing",
             .max_inputs = 2,
             .shape = [](const NodeView& v) -> std::vector<ValueType> {
               if (v.rank(0) != 4) v.fail("scores need rank 4");
               check_mask(v, 1, v.shape(0));
               return {v.type(0)};
             },
             .vjp =
                 [](VjpContext& c) {
                   Var ds = apply("attention_softmax_backward",
                                  {c.grad(0), c.out(0)});
                   double scale = c.attrs().number("scale");
                   if (c.needs(0)) c.give(0, mul_scalar(ds, scale));
                   if (c.needs(1)) c.give(1, sum_to(ds, c.in(1).shape()));
                 },
             .array = [](ArrayContext& c) { array_heads(c, 1); },
             .array_rule = ArrayRule::kFoldBatch});
  table.add({.name = "attention_softmax_backward",
             .summary = "p * (dp - sum(dp * p))",
             .min_inputs = 2,
             .max_inputs = 2,
             .shape = shape_like_first});
}

}  // namespace

void add_attention_ops(OpTable& table) {
  add_attention(table);
  add_attention_softmax(table);
}

}  // namespace braid
