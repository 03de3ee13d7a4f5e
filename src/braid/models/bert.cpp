// BERT (Devlin et al. 2018) with its masked language model head, with the
// names of transformers.BertForMaskedLM. N batch, T length, D width.
#include "braid/base/error.h"
#include "braid/models/attention.h"
#include "braid/models/families.h"

namespace braid::models {
namespace {

constexpr double kEps = 1e-12;
const EmbeddingOptions kTable{.begin = Init::normal(0.02)};
const EmbeddingOptions kWords{.begin = Init::normal(0.02), .padding = 0};

Var dense(Var x, int64_t outputs, std::string_view name) {
  return linear(
      x, outputs, name,
      {.begin = {.weight = Init::normal(0.02), .bias = Init::constant(0)}});
}

// The end of both halves of a layer: project, drop, add, normalise.
Var closed(Var y, Var x, double p) {
  PathScope scope(*x.graph, "output");
  y = dropout(dense(y, x.dim(2), "dense"), p, "dropout");
  return layer_norm(add(y, x), "LayerNorm", kEps);
}

Var attention_half(Var x, const SelfAttention& options, double p) {
  PathScope scope(*x.graph, "attention");
  Var y;
  {
    PathScope self(*x.graph, "self");
    int64_t width = x.dim(2);
    Var q = dense(x, width, "query"), k = dense(x, width, "key");
    y = attend(q, k, dense(x, width, "value"), options);
  }
  return closed(y, x, p);
}

Var encoder_layer(Var x, const SelfAttention& options, int64_t units,
                  double p) {
  x = attention_half(x, options, p);
  return closed(gelu(dense(x, units, "intermediate.dense")), x, p);
}

Var embedded(Var tokens, Var types, DType dtype, const SizeReader& size) {
  PathScope scope(*tokens.graph, "embeddings");
  int64_t width = size("width");
  Var x =
      embedding(tokens, size("vocab"), width, "word_embeddings", dtype, kWords);
  x = add(x, embedding(types, size("token_types"), width,
                       "token_type_embeddings", dtype, kTable));
  x = add(x, first_rows(*tokens.graph, size("length"), size("positions"), width,
                        "position_embeddings", dtype, kTable));
  x = layer_norm(x, "LayerNorm", kEps);
  return dropout(x, size.number("dropout"), "dropout");
}

Var encoded(Var tokens, Var types, Var mask, DType dtype,
            const SizeReader& size) {
  PathScope scope(*tokens.graph, "bert");
  Var x = embedded(tokens, types, dtype, size);
  Shape broadcast{mask.dim(0), 1, 1, mask.dim(1)};
  SelfAttention options{
      .heads = size("heads"),
      .dropout = size.number("attention_dropout"),
      .mask = reshape(ne_scalar(mask, int64_t{0}), broadcast)};
  for (int64_t i = 0; i < size("layers"); ++i) {
    PathScope layer(*x.graph, fmt::format("encoder.layer.{}", i));
    x = encoder_layer(x, options, feed_of(size), size.number("dropout"));
  }
  return x;
}

// Scores of all words: the word embedding once more, and a bias.
Var scores(Var x, int64_t vocab) {
  Graph& graph = *x.graph;
  PathScope scope(graph, "cls.predictions");
  Var bias = parameter(graph, "bias", x.dtype(), {vocab}, Init::constant(0));
  x = gelu(dense(x, x.dim(2), "transform.dense"));
  x = layer_norm(x, "transform.LayerNorm", kEps);
  PathScope decoder(graph, "decoder");
  add_name(graph, "cls.predictions.bias", "cls.predictions.decoder.bias");
  Var w = tied(graph, "bert.embeddings.word_embeddings.weight",
               "cls.predictions.decoder.weight");
  return braid::linear(x, w, bias);
}

Graph build_bert(const OpTable& ops, DType dtype, const Sizes& sizes) {
  SizeReader size(sizes);
  Graph graph(ops);
  ValueType type{DType::kInt64, {size("batch"), size("length")}};
  Var tokens = input(graph, "tokens", type);
  Var types = input(graph, "token_types", type);
  Var mask = input(graph, "mask", type);
  Var targets = input(graph, "targets", type);
  Var x = encoded(tokens, types, mask, dtype, size);
  x = scores(x, size("vocab"));
  graph.add_output("loss", cross_entropy(x, targets).id);
  graph.add_output("logits", x.id);
  return graph;
}

}  // namespace

std::vector<Model> bert_models() {
  return {{"bert",
           "BERT (Devlin et al. 2018), masked language model, base by default, "
           "as in transformers",
           "tokens[batch, length] i64, token_types[batch, length] i64, "
           "mask[batch, length] i64, targets[batch, length] i64",
           {batch_size(2),
            {"length", 512, "tokens of a sequence"},
            {"positions", 512, "longest length"},
            {"vocab", 30522, "different tokens; 0 is padding"},
            {"token_types", 2, "kinds of sentences"},
            {"width", 768, "numbers of a token"},
            {"heads", 12, "of attention; divide width"},
            {"layers", 12, "encoder layers"},
            feed_size(),
            dropout_size(0.1, "share dropped after embedding and layers"),
            {"attention_dropout", 0.1, "share of attention weights dropped",
             Size::Kind::kRate}},
           build_bert}};
}

}  // namespace braid::models
