// LSTM language model (Zaremba et al. 2014), the medium one by default, with
// the names of PyTorch's word language model.
#include "braid/base/error.h"
#include "braid/models/families.h"
#include "braid/models/layers.h"

namespace braid::models {
namespace {

const Init kBegin = Init::uniform(0.05);

// Scores of all tokens, by the embedding or by weights of their own.
Var scores(Var x, const SizeReader& size) {
  int64_t vocab = size("vocab");
  if (!size.flag("tied")) {
    return linear(x, vocab, "decoder",
                  {.begin = {.weight = kBegin, .bias = kBegin}});
  }
  if (size("width") != size("hidden")) {
    fail_usage("[model] lstm_lm: tied needs width {} and hidden {} equal",
               size("width"), size("hidden"));
  }
  PathScope scope(*x.graph, "decoder");
  Var w = tied(*x.graph, "encoder.weight", "decoder.weight");
  Var b = parameter(*x.graph, "bias", x.dtype(), {vocab}, kBegin);
  return braid::linear(x, w, b);
}

Graph build_lm(const OpTable& ops, DType dtype, const Sizes& sizes) {
  SizeReader size(sizes);
  Graph graph(ops);
  double p = size.number("dropout");
  ValueType type{DType::kInt64, {size("batch"), size("length")}};
  Var tokens = input(graph, "tokens", type);
  Var targets = input(graph, "targets", type);
  Var x = embedding(tokens, size("vocab"), size("width"), "encoder", dtype,
                    {.begin = kBegin});
  x = lstm(dropout(x, p, "drop"), size("hidden"), "rnn",
           {.layers = size("layers"), .dropout = p, .begin = kBegin});
  x = scores(dropout(x, p, "drop"), size);
  graph.add_output("loss", cross_entropy(x, targets).id);
  graph.add_output("logits", x.id);
  return graph;
}

}  // namespace

std::vector<Model> lstm_lm_models() {
  return {
      {"lstm_lm",
       "LSTM language model (Zaremba et al. 2014), medium by default",
       "tokens[batch, length] i64, targets[batch, length] i64",
       {batch_size(20),
        {"length", 35, "tokens of a sequence"},
        {"vocab", 10000, "different tokens"},
        {"width", 650, "numbers of a token"},
        {"hidden", 650, "units of a layer"},
        {"layers", 2, "LSTM layers"},
        {"tied", 0, "1: the output is the embedding", Size::Kind::kFlag},
        dropout_size(0.5, "share dropped before, between and after layers")},
       build_lm}};
}

}  // namespace braid::models
