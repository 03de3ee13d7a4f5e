// Functions on Vars for activations.
#include "braid/ops/build/functions.h"

namespace braid {

Var leaky_relu(Var x, double negative_slope) {
  return apply("leaky_relu", {x}, {{"negative_slope", negative_slope}});
}

Var rrelu(Var x, double lower, double upper) {
  return leaky_relu(x, (lower + upper) / 2);
}

Var elu(Var x, double alpha, double scale, double input_scale) {
  return apply(
      "elu", {x},
      {{"alpha", alpha}, {"scale", scale}, {"input_scale", input_scale}});
}

Var celu(Var x, double alpha) { return elu(x, alpha, 1, 1 / alpha); }

// The constants that keep mean 0 and variance 1 (Klambauer et al. 2017).
Var selu(Var x) {
  return elu(x, 1.6732632423543772848170429916717,
             1.0507009873554804934193349852946);
}

Var hardtanh(Var x, double min, double max) {
  return apply("hardtanh", {x}, {{"min", min}, {"max", max}});
}

Var relu6(Var x) { return hardtanh(x, 0, 6); }

Var threshold(Var x, double threshold, double value) {
  return apply("threshold", {x}, {{"threshold", threshold}, {"value", value}});
}

Var hardswish(Var x) { return apply("hardswish", {x}); }
Var hardsigmoid(Var x) { return apply("hardsigmoid", {x}); }
Var silu(Var x) { return apply("silu", {x}); }
Var mish(Var x) { return apply("mish", {x}); }
Var log_sigmoid(Var x) { return apply("log_sigmoid", {x}); }

Var softplus(Var x, double beta, double threshold) {
  return apply("softplus", {x}, {{"beta", beta}, {"threshold", threshold}});
}

Var softsign(Var x) { return div(x, add_scalar(abs(x), 1.0)); }
Var tanhshrink(Var x) { return sub(x, tanh(x)); }

Var hardshrink(Var x, double lambd) {
  return apply("hardshrink", {x}, {{"lambd", lambd}});
}

Var softshrink(Var x, double lambd) {
  return apply("softshrink", {x}, {{"lambd", lambd}});
}

Var prelu(Var x, Var weight) {
  if (weight.rank() == 1 && x.rank() > 2 && weight.numel() > 1) {
    Shape shape(static_cast<size_t>(x.rank() - 1), 1);
    shape[0] = weight.numel();
    weight = reshape(weight, shape);
  } else if (x.rank() == 0) {
    weight = reshape(weight, {});
  }
  return apply("prelu", {x, weight});
}

Var glu(Var x, int64_t dim) {
  dim = normalize_dim(dim, x.rank(), "glu");
  return apply("glu", {x}, {{"dim", dim}});
}

}  // namespace braid
