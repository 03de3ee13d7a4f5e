// Losses as PyTorch names them, built from the ops of loss.cpp and
// loss_pointwise.cpp.
#include "braid/base/error.h"
#include "braid/ops/build/functions.h"

namespace braid {
namespace {

Ints all_dims(Var x) {
  Ints dims;
  for (int64_t d = 0; d < x.rank(); ++d) dims.push_back(d);
  return dims;
}

// [N, C, d1, ...] as [N, d1, ..., C]; a vector is [C] already.
Var classes_last(Var x) {
  if (x.rank() <= 2) return x;
  Ints dims = all_dims(x);
  dims.erase(dims.begin() + 1);
  dims.push_back(1);
  return permute(x, dims);
}

Attrs class_attrs(const ClassLoss& options) {
  Attrs attrs;
  if (options.ignore_index != -100) {
    attrs.set("ignore_index", options.ignore_index);
  }
  if (options.reduction != Reduction::kMean) {
    bool sum = options.reduction == Reduction::kSum;
    attrs.set("reduction", std::string(sum ? "sum" : "none"));
  }
  return attrs;
}

std::vector<Var> class_inputs(Var x, Var target, const ClassLoss& options) {
  std::vector<Var> inputs{classes_last(x), target};
  if (options.weight) inputs.push_back(cast(options.weight, x.dtype()));
  return inputs;
}

Var optional_apply(const char* op, std::vector<Var> inputs,
                   const Attrs& attrs = {}) {
  while (!inputs.back()) inputs.pop_back();
  return apply(op, inputs, attrs);
}

}  // namespace

Var cross_entropy_loss(Var logits, Var target, const ClassLoss& options) {
  Attrs attrs = class_attrs(options);
  attrs.set("label_smoothing", options.label_smoothing);
  if (is_floating(target.dtype())) {
    if (options.ignore_index >= 0) {
      fail_usage(
          "[cross_entropy_loss] ignore_index {} has no meaning for "
          "class probabilities",
          options.ignore_index);
    }
    target = cast(classes_last(target), logits.dtype());
  }
  return apply("cross_entropy_loss", class_inputs(logits, target, options),
               attrs);
}

Var nll_loss(Var log_p, Var target, const ClassLoss& options) {
  return apply("nll_loss", class_inputs(log_p, target, options),
               class_attrs(options));
}

Var reduce_loss(Var losses, Reduction reduction) {
  switch (reduction) {
    case Reduction::kMean: return mean(losses, all_dims(losses));
    case Reduction::kSum: return sum(losses, all_dims(losses));
    case Reduction::kEach: return losses;
  }
  return losses;
}

Var mse_loss(Var x, Var t, Reduction r) {
  if (r == Reduction::kMean && x.type() == t.type()) {
    return apply("mse_loss", {x, t});
  }
  Var d = sub(x, t);
  return reduce_loss(mul(d, d), r);
}

Var l1_loss(Var x, Var t, Reduction r) {
  return reduce_loss(apply("l1_loss", {x, t}), r);
}

Var smooth_l1_loss(Var x, Var t, double beta, Reduction r) {
  if (beta < 0) fail_usage("[smooth_l1_loss] beta {} is negative", beta);
  return reduce_loss(apply("smooth_l1_loss", {x, t}, {{"beta", beta}}), r);
}

Var huber_loss(Var x, Var t, double delta, Reduction r) {
  if (delta <= 0) fail_usage("[huber_loss] delta {} is not above 0", delta);
  return reduce_loss(apply("huber_loss", {x, t}, {{"delta", delta}}), r);
}

Var binary_cross_entropy(Var p, Var t, Var weight, Reduction r) {
  return reduce_loss(optional_apply("binary_cross_entropy", {p, t, weight}), r);
}

Var binary_cross_entropy_with_logits(Var x, Var t, Var weight, Var pos_weight,
                                     Reduction r) {
  return reduce_loss(optional_apply("binary_cross_entropy_with_logits",
                                    {x, t, weight, pos_weight}),
                     r);
}

Var kl_div(Var log_p, Var t, bool log_target, Reduction r) {
  Attrs attrs{{"log_target", log_target}};
  return reduce_loss(apply("kl_div", {log_p, t}, attrs), r);
}

Var soft_margin_loss(Var x, Var t, Reduction r) {
  return reduce_loss(apply("soft_margin_loss", {x, t}), r);
}

Var multilabel_soft_margin_loss(Var x, Var t, Var weight, Reduction r) {
  Var rows =
      binary_cross_entropy_with_logits(x, t, weight, {}, Reduction::kEach);
  return reduce_loss(mean(rows, {-1}), r);
}

Var poisson_nll_loss(Var x, Var t, bool log_input, bool full, double eps,
                     Reduction r) {
  Attrs attrs{{"log_input", log_input}, {"full", full}, {"eps", eps}};
  return reduce_loss(apply("poisson_nll_loss", {x, t}, attrs), r);
}

Var gaussian_nll_loss(Var x, Var t, Var variance, bool full, double eps,
                      Reduction r) {
  Attrs attrs{{"full", full}, {"eps", eps}};
  // One variance per row may come without the last dimension.
  if (variance.rank() + 1 == x.rank()) variance = unsqueeze(variance, -1);
  return reduce_loss(apply("gaussian_nll_loss", {x, t, variance}, attrs), r);
}

Var margin_ranking_loss(Var a, Var b, Var t, double margin, Reduction r) {
  Attrs attrs{{"margin", margin}};
  return reduce_loss(apply("margin_ranking_loss", {a, b, t}, attrs), r);
}

Var hinge_embedding_loss(Var x, Var t, double margin, Reduction r) {
  Attrs attrs{{"margin", margin}};
  return reduce_loss(apply("hinge_embedding_loss", {x, t}, attrs), r);
}

// PyTorch bounds this cosine by adding to the squares, unlike
// cosine_similarity.
Var cosine_embedding_loss(Var a, Var b, Var t, double margin, Reduction r) {
  constexpr double kEps = 1e-12;
  auto square = [&](Var x) { return add_scalar(sum(mul(x, x), {-1}), kEps); };
  Var size = sqrt(mul(square(a), square(b)));
  Var cosine = div(sum(mul(a, b), {-1}), size);
  Attrs attrs{{"margin", margin}};
  return reduce_loss(apply("cosine_margin", {cosine, t}, attrs), r);
}

Var triplet_margin_loss(Var anchor, Var near, Var far,
                        const TripletMargin& options) {
  auto distance = [&](Var a, Var b) {
    return pairwise_distance(a, b, options.p, options.eps);
  };
  std::vector<Var> inputs{distance(anchor, near), distance(anchor, far)};
  if (options.swap) inputs.push_back(distance(near, far));
  Attrs attrs{{"margin", options.margin}};
  return reduce_loss(apply("triplet_margin", inputs, attrs), options.reduction);
}

}  // namespace braid
