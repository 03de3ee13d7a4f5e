// Activations of torch.nn.
#include "braid/base/error.h"
#include "braid/io/pt2/rule.h"

namespace braid::io::pt2 {
namespace {

template <Var (*f)(Var)>
void plain(RuleContext& c) {
  c.give(f(c.tensor("self")));
}

void gelu_rule(RuleContext& c) {
  c.give(gelu(c.tensor("self"), c.text_or("approximate", "none") == "tanh"));
}

void leaky_relu_rule(RuleContext& c) {
  c.give(leaky_relu(c.tensor("self"), c.number_or("negative_slope", 0.01)));
}

// With noise it is random, which the fallback refuses.
void rrelu_rule(RuleContext& c) {
  if (c.trains("training", false)) {
    fail_usage("rrelu with noise is not supported");
  }
  c.give(rrelu(c.tensor("self"), c.number_or("lower", 0.125),
               c.number_or("upper", 1.0 / 3)));
}

void elu_rule(RuleContext& c) {
  c.give(elu(c.tensor("self"), c.number_or("alpha", 1), c.number_or("scale", 1),
             c.number_or("input_scale", 1)));
}

void celu_rule(RuleContext& c) {
  c.give(celu(c.tensor("self"), c.number_or("alpha", 1)));
}

void hardtanh_rule(RuleContext& c) {
  c.give(hardtanh(c.tensor("self"), c.number_or("min_val", -1),
                  c.number_or("max_val", 1)));
}

void threshold_rule(RuleContext& c) {
  c.give(threshold(c.tensor("self"), c.number("threshold"), c.number("value")));
}

void softplus_rule(RuleContext& c) {
  c.give(softplus(c.tensor("self"), c.number_or("beta", 1),
                  c.number_or("threshold", 20)));
}

void hardshrink_rule(RuleContext& c) {
  c.give(hardshrink(c.tensor("self"), c.number_or("lambd", 0.5)));
}

void softshrink_rule(RuleContext& c) {
  c.give(softshrink(c.tensor("self"), c.number_or("lambd", 0.5)));
}

void prelu_rule(RuleContext& c) {
  c.give(prelu(c.tensor("self"), c.tensor("weight")));
}

void glu_rule(RuleContext& c) {
  c.give(glu(c.tensor("self"), c.integer_or("dim", -1)));
}

}  // namespace

void add_activation_rules(Rules& rules) {
  rules.insert({
      {"tanh", plain<tanh>},
      {"sigmoid", plain<sigmoid>},
      {"special_expit", plain<sigmoid>},
      {"relu", plain<relu>},
      {"relu6", plain<relu6>},
      {"selu", plain<selu>},
      {"silu", plain<silu>},
      {"mish", plain<mish>},
      {"hardswish", plain<hardswish>},
      {"hardsigmoid", plain<hardsigmoid>},
      {"log_sigmoid", plain<log_sigmoid>},
      {"gelu", gelu_rule},
      {"leaky_relu", leaky_relu_rule},
      {"rrelu", rrelu_rule},
      {"elu", elu_rule},
      {"celu", celu_rule},
      {"hardtanh", hardtanh_rule},
      {"threshold", threshold_rule},
      {"softplus", softplus_rule},
      {"hardshrink", hardshrink_rule},
      {"softshrink", softshrink_rule},
      {"prelu", prelu_rule},
      {"glu", glu_rule},
  });
}

}  // namespace braid::io::pt2
