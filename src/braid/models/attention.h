// Self-attention as transformers use it. N batch, T length, D width, H heads.
#pragma once

#include "braid/models/layers.h"

namespace braid::models {

// [N, T, D] -> [N, H, T, D / H], and back.
Var split_heads(Var x, int64_t heads);
Var merge_heads(Var x);

struct SelfAttention {
  int64_t heads = 1;
  bool causal = false;
  double dropout = 0;  // of the weights
  Var mask = {};       // bool, broadcasts to [N, H, T, T]
};
// From q, k and v [N, T, D], before any projection of the result.
Var attend(Var q, Var k, Var v, const SelfAttention& options);

// torch.nn.MultiheadAttention(batch_first) of x[N, T, D] with itself; slots
// name.in_proj_weight, name.in_proj_bias, name.out_proj.weight and .bias.
Var self_attention(Var x, std::string_view name, const SelfAttention& options);

}  // namespace braid::models
