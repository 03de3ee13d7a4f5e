// Attention, recurrent layers, dropout.
#include "braid/base/error.h"
#include "braid/io/pt2/rule.h"
#include "braid/models/layers.h"

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
  const char* name = c.find("input") ? "input" : "self";
  Draw draw = c.trains("train", true) ? c.draw(c.number("p")) : Draw{};
  if (!draw.p) return c.give_same(name);
  c.give(f(c.tensor(name), draw));
}

// Ones with this probability, else zeros. Stochastic depth divides by the
// rate, so in eval form the rate itself switches it off. As the file holds
// that division, no member can have another rate.
Var coins(RuleContext& c, double rate) {
  Var self = c.tensor("self");
  if (!c.is_training()) {
    return full(c.anchor(), self.shape(), rate, self.dtype());
  }
  Var p = full(c.anchor(), {}, 1 - rate, DType::kFloat64);
  Var ones = full(c.anchor(), self.shape(), 1, DType::kFloat32);
  Var drawn = dropout(ones, models::draw_at(p));
  return cast(ne_scalar(drawn, 0.0), self.dtype());
}

void bernoulli_rule(RuleContext& c) {
  if (!c.has("p") && c.name() == "bernoulli") {
    fail_usage("a rate per element is not supported");
  }
  if (c.is_tensor("p")) fail_usage("a rate that is a tensor is not supported");
  Var value = coins(c, c.number_or("p", 0.5));
  if (c.name() == "bernoulli") return c.give(value);
  c.write("self", value);
  c.give_same("self");
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
      {"bernoulli", bernoulli_rule},
      {"bernoulli_", bernoulli_rule},
      {"lstm", lstm_rule},
      {"gru", recurrent_rule<gru>},
      {"rnn_tanh", recurrent_rule<rnn_tanh>},
      {"rnn_relu", recurrent_rule<rnn_relu>},
  });
}

}  // namespace braid::io::pt2
