// GPT-2 (Radford et al. 2019) with the names of transformers.GPT2LMHeadModel,
// whose linear layers store [inputs, outputs]. N batch, T length, D width.
#include <cmath>

#include "braid/base/error.h"
#include "braid/models/attention.h"
#include "braid/models/families.h"

namespace braid::models {
namespace {

constexpr double kStd = 0.02;

struct Layer {
  int64_t heads, units;
  double dropout, attention_dropout;
  double residual_std;  // of what is added to the stream
};

// y = x w[I, O] + b[O].
Var dense(Var x, int64_t outputs, std::string_view name, double std = kStd) {
  Graph& graph = *x.graph;
  PathScope scope(graph, name);
  int64_t inputs = x.dim(2);
  Var w = parameter(graph, "weight", x.dtype(), {inputs, outputs},
                    Init::normal(std));
  Var b = parameter(graph, "bias", x.dtype(), {outputs}, Init::constant(0));
  Var y = addmm(b, reshape(x, {-1, inputs}), w);
  return reshape(y, {x.dim(0), x.dim(1), outputs});
}

Var attention_half(Var x, const Layer& layer) {
  PathScope scope(*x.graph, "attn");
  int64_t width = x.dim(2);
  std::vector<Var> qkv = chunk(dense(x, 3 * width, "c_attn"), 3, 2);
  SelfAttention options{
      .heads = layer.heads, .causal = true, .dropout = layer.attention_dropout};
  Var y = attend(qkv[0], qkv[1], qkv[2], options);
  y = dense(y, width, "c_proj", layer.residual_std);
  return dropout(y, layer.dropout, "resid_dropout");
}

Var feed_forward(Var x, const Layer& layer) {
  PathScope scope(*x.graph, "mlp");
  Var y = gelu(dense(x, layer.units, "c_fc"), true);
  y = dense(y, x.dim(2), "c_proj", layer.residual_std);
  return dropout(y, layer.dropout, "dropout");
}

Var decoder_layer(Var x, const Layer& layer) {
  x = add(x, attention_half(layer_norm(x, "ln_1"), layer));
  return add(x, feed_forward(layer_norm(x, "ln_2"), layer));
}

Var transformed(Var tokens, DType dtype, const SizeReader& size) {
  Graph& graph = *tokens.graph;
  PathScope scope(graph, "transformer");
  EmbeddingOptions table{.begin = Init::normal(kStd)};
  int64_t width = size("width"), layers = size("layers");
  Var x = embedding(tokens, size("vocab"), width, "wte", dtype, table);
  x = add(x, first_rows(graph, size("length"), size("positions"), width, "wpe",
                        dtype, table));
  x = dropout(x, size.number("dropout"), "drop");
  Layer layer{size("heads"), feed_of(size), size.number("dropout"),
              size.number("attention_dropout"),
              kStd / std::sqrt(2.0 * static_cast<double>(layers))};
  for (int64_t i = 0; i < layers; ++i) {
    PathScope block(graph, fmt::format("h.{}", i));
    x = decoder_layer(x, layer);
  }
  return layer_norm(x, "ln_f");
}

Graph build_gpt2(const OpTable& ops, DType dtype, const Sizes& sizes) {
  SizeReader size(sizes);
  Graph graph(ops);
  ValueType type{DType::kInt64, {size("batch"), size("length")}};
  Var tokens = input(graph, "tokens", type);
  Var targets = input(graph, "targets", type);
  Var x = transformed(tokens, dtype, size);
  PathScope head(graph, "lm_head");
  Var w = tied(graph, "transformer.wte.weight", "lm_head.weight");
  x = braid::linear(x, w, {});
  graph.add_output("loss", cross_entropy(x, targets).id);
  graph.add_output("logits", x.id);
  return graph;
}

}  // namespace

std::vector<Model> gpt2_models() {
  return {{"gpt2",
           "GPT-2 (Radford et al. 2019), small by default, as in transformers",
           "tokens[batch, length] i64, targets[batch, length] i64",
           {batch_size(1),
            {"length", 1024, "tokens of a sequence"},
            {"positions", 1024, "longest length"},
            {"vocab", 50257, "different tokens"},
            {"width", 768, "numbers of a token"},
            {"heads", 12, "of attention; divide width"},
            {"layers", 12, "blocks"},
            feed_size(),
            dropout_size(0.1, "share dropped after embedding and layers"),
            {"attention_dropout", 0.1, "share of attention weights dropped",
             Size::Kind::kRate}},
           build_gpt2}};
}

}  // namespace braid::models
