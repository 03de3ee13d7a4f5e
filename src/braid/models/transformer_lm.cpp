// A causal language model of the layers of Vaswani et al. (2017), those of
// torch.nn.TransformerEncoderLayer: normalised after each sum, ReLU. Positions
// are learned; the output is the embedding once more, unless not tied.
#include <cmath>

#include "braid/base/error.h"
#include "braid/models/attention.h"
#include "braid/models/families.h"

namespace braid::models {
namespace {

Var decoder_layer(Var x, int64_t heads, int64_t units, double p) {
  int64_t width = x.dim(2);
  Var y = self_attention(x, "self_attn",
                         {.heads = heads, .causal = true, .dropout = p});
  x = layer_norm(add(x, dropout(y, p, "dropout1")), "norm1");
  y = dropout(relu(linear(x, units, "linear1")), p, "dropout");
  y = dropout(linear(y, width, "linear2"), p, "dropout2");
  return layer_norm(add(x, y), "norm2");
}

Var embedded(Var tokens, DType dtype, const SizeReader& size) {
  int64_t width = size("width");
  double scale = std::sqrt(static_cast<double>(width));
  EmbeddingOptions options{.begin = Init::normal(1 / scale)};
  Var x = embedding(tokens, size("vocab"), width, "embedding", dtype, options);
  x = add(mul_scalar(x, scale),
          first_rows(*tokens.graph, size("length"), size("positions"), width,
                     "positions", dtype, options));
  return dropout(x, size.number("dropout"), "dropout");
}

// Scores of all tokens, by the embedding or by weights of their own.
Var scores(Var x, const SizeReader& size) {
  if (!size.flag("tied")) {
    return linear(x, size("vocab"), "head", {.bias = false});
  }
  PathScope scope(*x.graph, "head");
  Var w = tied(*x.graph, "embedding.weight", "head.weight");
  return braid::linear(x, w, {});
}

Graph build_lm(const OpTable& ops, DType dtype, const Sizes& sizes) {
  SizeReader size(sizes);
  Graph graph(ops);
  Shape shape{size("batch"), size("length")};
  Var tokens = input(graph, "tokens", {DType::kInt64, shape});
  Var targets = input(graph, "targets", {DType::kInt64, shape});
  Var x = embedded(tokens, dtype, size);
  for (int64_t i = 0; i < size("layers"); ++i) {
    PathScope scope(graph, fmt::format("layers.{}", i));
    x = decoder_layer(x, size("heads"), feed_of(size), size.number("dropout"));
  }
  Var logits = scores(x, size);
  graph.add_output("loss", cross_entropy(logits, targets).id);
  graph.add_output("logits", logits.id);
  return graph;
}

}  // namespace

std::vector<Model> transformer_lm_models() {
  return {{"transformer_lm",
           "causal language model, layers of Vaswani et al. 2017",
           "tokens[batch, length] i64, targets[batch, length] i64",
           {batch_size(2),
            {"length", 512, "tokens of a sequence"},
            {"positions", 512, "longest length"},
            {"vocab", 37000, "different tokens"},
            {"width", 512, "numbers of a token"},
            {"heads", 8, "of attention; divide width"},
            {"layers", 6, "blocks"},
            feed_size(),
            {"tied", 1, "1: the output is the embedding", Size::Kind::kFlag},
            dropout_size(0.1, "share dropped, of attention weights too")},
           build_lm}};
}

}  // namespace braid::models
