// Attention, recurrent layers, dropout.
#include "braid/base/error.h"
#include "braid/io/pt2/rule.h"

namespace braid::io::pt2 {
namespace {

void attention_rule(RuleContext& c) {
  Attention options{.mask = c.tensor_or_none("attn_mask"),
                    .causal = c.flag_or("is_causal", false),
                    .grouped_heads = c.flag_or("enable_gqa", false),
                    .dropout = c.draw(c.number_or("dropout_p", 0))};
  if (c.has("scale")) options.scale = c.number("scale");
  c.give(attention(c.tensor("query"), c.tensor("key"), c.tensor("value"),
                   options));
}

using Dropped = Var (*)(Var, const Draw&);

template <Dropped f>
void dropout_rule(RuleContext& c) {
  Var x = c.tensor(c.find("input") ? "input" : "self");
  Draw draw = c.trains("train", true) ? c.draw(c.number("p")) : Draw{};
  c.give(draw.p ? f(x, draw) : x);
}

Recurrent recurrent_of(RuleContext& c) {
  return {.layers = c.integer("num_layers"),
          .bias = c.flag_or("has_biases", true),
          .bidirectional = c.flag_or("bidirectional", false),
          .batch_first = c.flag_or("batch_first", false),
          .dropout =
              c.trains("train", false) ? c.draw(c.number("dropout")) : Draw{}};
}

void expect_padded(RuleContext& c) {
  if (c.overload() != "input") {
    fail_usage("packed sequences have shapes that depend on data");
  }
}

void lstm_rule(RuleContext& c) {
  expect_padded(c);
  std::vector<Var> states = c.tensors("hx");
  RecurrentResult result = lstm(c.tensor("input"), states.at(0), states.at(1),
                                c.tensors("params"), recurrent_of(c));
  c.give(result.y);
  c.give(result.h);
  c.give(result.c);
}

using Cell = RecurrentResult (*)(Var, Var, const std::vector<Var>&,
                                 const Recurrent&);

template <Cell f>
void recurrent_rule(RuleContext& c) {
  expect_padded(c);
  RecurrentResult result = f(c.tensor("input"), c.tensor("hx"),
                             c.tensors("params"), recurrent_of(c));
  c.give(result.y);
  c.give(result.h);
}

}  // namespace

void add_layer_rules(Rules& rules) {
  rules.insert({
      {"scaled_dot_product_attention", attention_rule},
      {"dropout", dropout_rule<dropout>},
      {"feature_dropout", dropout_rule<feature_dropout>},
      {"alpha_dropout", dropout_rule<alpha_dropout>},
      {"feature_alpha_dropout", dropout_rule<feature_alpha_dropout>},
      {"lstm", lstm_rule},
      {"gru", recurrent_rule<gru>},
      {"rnn_tanh", recurrent_rule<rnn_tanh>},
      {"rnn_relu", recurrent_rule<rnn_relu>},
  });
}

}  // namespace braid::io::pt2
