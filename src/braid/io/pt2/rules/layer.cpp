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
// rate, so in eval form the rate itself switches it off.
Var coins(RuleContext& c, double rate) {
  Var self = c.tensor("self");
  if (!c.is_training() || rate <= 0 || rate >= 1) {
    return full(c.anchor(), self.shape(), rate, self.dtype());
  }
  Draw draw = models::draw(c.graph(), 1 - rate);
  Var ones = full(c.anchor(), self.shape(), 1, DType::kFloat32);
  Var coin = cast(ne_scalar(dropout(ones, draw), 0.0), self.dtype());
  // The file holds that division by its own rate. The coins of a member with
  // another one are worth so much that their mean stays, and all is right.
  Var worth = div(full_like(draw.p, {}, rate), rsub_scalar(draw.p, 1.0));
  return mul(coin, cast(worth, self.dtype()));
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
