#include "braid/models/attention.h"

#include "braid/base/error.h"

namespace braid::models {

Var split_heads(Var x, int64_t heads) {
  if (x.dim(2) % heads != 0) {
    fail_usage("[model] {}: a width of {} cannot be cut into {} heads",
               x.graph->path(), x.dim(2), heads);
  }
  Shape split{x.dim(0), x.dim(1), heads, x.dim(2) / heads};
  return transpose(reshape(x, split), 1, 2);
}

Var merge_heads(Var x) { return flatten(transpose(x, 1, 2), 2); }

Var attend(Var q, Var k, Var v, const SelfAttention& options) {
  Attention call{.mask = options.mask, .causal = options.causal};
  if (options.dropout > 0) call.dropout = draw(*q.graph, options.dropout);
  auto heads = [&](Var x) { return split_heads(x, options.heads); };
  return merge_heads(attention(heads(q), heads(k), heads(v), call));
}

Var self_attention(Var x, std::string_view name, const SelfAttention& options) {
  PathScope scope(*x.graph, name);
  int64_t width = x.dim(2);
  Init zero = Init::constant(0);
  Var w = parameter(*x.graph, "in_proj_weight", x.dtype(), {3 * width, width},
                    {Init::Kind::kXavierUniform, 1});
  Var b = parameter(*x.graph, "in_proj_bias", x.dtype(), {3 * width}, zero);
  std::vector<Var> parts = chunk(braid::linear(x, w, b), 3, 2);
  Var y = attend(parts[0], parts[1], parts[2], options);
  return linear(y, width, "out_proj", {.begin = {.bias = zero}});
}

}  // namespace braid::models
