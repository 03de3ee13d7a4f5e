// Attention as models call it: any rank from 2, grouped heads, masks of any
// rank and dropout, brought to the op on [N, H, T, D].
#include <cmath>

#include "braid/base/error.h"
#include "braid/ops/build/functions.h"

namespace braid {
namespace {

Shape lead_of(Var x) { return {x.shape().begin(), x.shape().end() - 2}; }

// Keys or values of G groups for H heads: [..., G, S, D] -> [..., H, S, D].
Var repeat_heads(Var x, int64_t heads) {
  int64_t groups = x.dim(-3);
  if (groups == heads) return x;
  if (groups == 0 || heads % groups != 0) {
    fail_usage("[attention] {} heads do not share {} key heads", heads, groups);
  }
  Shape shape = unsqueeze(x, -3).shape(), merged = x.shape();
  shape[shape.size() - 3] = heads / groups;
  merged[merged.size() - 3] = heads;
  return reshape(expand(unsqueeze(x, -3), shape), merged);
}

// [lead..., T, D] as [N, H, T, D] with all of `lead` there.
Var as_heads(Var x, const Shape& lead) {
  Shape shape = lead;
  shape.insert(shape.end(), {x.dim(-2), x.dim(-1)});
  x = expand(x, shape);
  int64_t heads = lead.empty() ? 1 : lead.back();
  int64_t batch = 1;
  for (size_t i = 0; i + 1 < lead.size(); ++i) batch *= lead[i];
  return reshape(x, {batch, heads, x.dim(-2), x.dim(-1)});
}

// A mask as rank 4; only more than two leading dimensions need a copy.
Var mask_as_heads(Var mask, const Shape& lead, DType dtype) {
  if (is_floating(mask.dtype())) mask = cast(mask, dtype);
  Shape shape = mask.shape();
  if (lead.size() <= 2) {
    if (shape.size() > 4) {
      fail_usage("[attention] mask {} has too many dimensions",
                 shape_text(shape));
    }
    shape.insert(shape.begin(), 4 - shape.size(), 1);
    return reshape(mask, shape);
  }
  Shape ones(lead.size() + 2 - std::min(shape.size(), lead.size() + 2), 1);
  shape.insert(shape.begin(), ones.begin(), ones.end());
  Var full = reshape(mask, shape);
  return as_heads(full, lead);
}

Var with_dropout(Var q, Var k, Var v, Var mask, const Attention& options) {
  Attrs attrs{{"scale", *options.scale}};
  if (options.causal) attrs.set("is_causal", true);
  std::vector<Var> inputs{matmul(q, transpose(k, -1, -2))};
  if (mask) inputs.push_back(mask);
  Var p = apply("attention_softmax", inputs, attrs);
  return matmul(dropout(p, options.dropout), v);
}

}  // namespace

Var attention(Var q, Var k, Var v, Attention options) {
  if (q.rank() < 2 || k.rank() < 2 || v.rank() < 2) {
    fail_usage("[attention] q, k and v need rank 2 or more");
  }
  if (options.grouped_heads && q.rank() >= 3) {
    k = repeat_heads(k, q.dim(-3));
    v = repeat_heads(v, q.dim(-3));
  }
  bool scaled = options.scale.has_value();
  if (!scaled) options.scale = 1 / std::sqrt(static_cast<double>(q.dim(-1)));
  Shape lead =
      broadcast_shapes(broadcast_shapes(lead_of(q), lead_of(k), "attention"),
                       lead_of(v), "attention");
  Shape shape = lead;
  shape.insert(shape.end(), {q.dim(-2), v.dim(-1)});
  Var mask =
      options.mask ? mask_as_heads(options.mask, lead, q.dtype()) : Var{};
  q = as_heads(q, lead);
  k = as_heads(k, lead);
  v = as_heads(v, lead);
  if (options.dropout.p) {
    return reshape(with_dropout(q, k, v, mask, options), shape);
  }
  Attrs attrs{{"is_causal", options.causal}};
  if (scaled) attrs.set("scale", *options.scale);
  std::vector<Var> inputs{q, k, v};
  if (mask) inputs.push_back(mask);
  return reshape(apply("scaled_dot_product_attention", inputs, attrs), shape);
}

Var attention(Var q, Var k, Var v, bool causal) {
  return attention(q, k, v, Attention{.causal = causal});
}

}  // namespace braid
