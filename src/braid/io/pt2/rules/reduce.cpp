// Reductions, scans, order.
#include "braid/base/error.h"
#include "braid/io/pt2/rule.h"

namespace braid::io::pt2 {
namespace {

// The sum or mean may be taken in another type.
Var typed(RuleContext& c) {
  Var x = c.tensor("self");
  return c.has("dtype") ? cast(x, c.type_or_result("dtype")) : x;
}

// Sums of whole numbers are taken in i64; asked for in another type they are
// the same but for what does not fit there.
Var in_type(RuleContext& c, Var y) {
  return c.has("dtype") ? cast(y, c.type_or_result("dtype")) : y;
}

bool keeps(RuleContext& c) { return c.flag_or("keepdim", false); }

template <Var (*f)(Var, Ints, bool)>
void over_dims(RuleContext& c) {
  c.give(in_type(c, f(typed(c), c.ints_or("dim", {}), keeps(c))));
}

void variance_rule(RuleContext& c) {
  double correction = c.has("correction") ? c.number("correction")
                                          : c.flag_or("unbiased", true);
  Ints dims = c.ints_or("dim", {});
  Var x = c.tensor("self");
  c.give(c.name() == "std" ? stddev(x, dims, correction, keeps(c))
                           : variance(x, dims, correction, keeps(c)));
}

void var_mean_rule(RuleContext& c) {
  Ints dims = c.ints_or("dim", {});
  Var average = mean(c.tensor("self"), dims, keeps(c));
  double correction = c.has("correction") ? c.number("correction")
                                          : c.flag_or("unbiased", true);
  Var x = c.tensor("self");
  c.give(c.name() == "std_mean" ? stddev(x, dims, correction, keeps(c))
                                : variance(x, dims, correction, keeps(c)));
  c.give(average);
}

void prod_rule(RuleContext& c) {
  c.give(in_type(c, c.has("dim") ? prod(typed(c), c.integer("dim"), keeps(c))
                                 : prod(typed(c))));
}

void norm_rule(RuleContext& c) {
  double ord = c.has("ord") ? c.number("ord") : c.number_or("p", 2);
  c.give(vector_norm(typed(c), ord, c.ints_or("dim", {}), keeps(c)));
}

void argmax_rule(RuleContext& c) {
  Var x = c.tensor("self");
  c.give(c.has("dim") ? argmax(x, c.integer("dim"), keeps(c)) : argmax(x));
}

void argmin_rule(RuleContext& c) {
  Var x = c.tensor("self");
  c.give(c.has("dim") ? argmin(x, c.integer("dim"), keeps(c)) : argmin(x));
}

void give_picked(RuleContext& c, const Picked& picked) {
  c.give(picked.values);
  c.give(picked.indices);
}

// Overloads: of two tensors, along a dimension, of all entries.
void max_rule(RuleContext& c) {
  Var x = c.tensor("self");
  if (c.has("other")) return c.give(maximum(x, c.tensor("other")));
  if (c.has("dim")) return give_picked(c, max(x, c.integer("dim"), keeps(c)));
  c.give(amax(x, {}));
}

void min_rule(RuleContext& c) {
  Var x = c.tensor("self");
  if (c.has("other")) return c.give(minimum(x, c.tensor("other")));
  if (c.has("dim")) return give_picked(c, min(x, c.integer("dim"), keeps(c)));
  c.give(amin(x, {}));
}

void topk_rule(RuleContext& c) {
  give_picked(c, topk(c.tensor("self"), c.integer("k"), c.integer_or("dim", -1),
                      c.flag_or("largest", true), c.flag_or("sorted", true)));
}

void sort_rule(RuleContext& c) {
  give_picked(c, sort(c.tensor("self"), c.integer_or("dim", -1),
                      c.flag_or("descending", false)));
}

void argsort_rule(RuleContext& c) {
  c.give(argsort(c.tensor("self"), c.integer_or("dim", -1),
                 c.flag_or("descending", false)));
}

template <Var (*f)(Var, int64_t)>
void along_dim(RuleContext& c) {
  c.give(in_type(c, f(typed(c), c.integer("dim"))));
}

void diff_rule(RuleContext& c) {
  Var x = c.tensor("self");
  int64_t dim = normalize_dim(c.integer_or("dim", -1), x.rank(), "diff");
  std::vector<Var> parts{x};
  if (c.has("prepend")) parts.insert(parts.begin(), c.tensor("prepend"));
  if (c.has("append")) parts.push_back(c.tensor("append"));
  if (parts.size() > 1) x = cat(parts, dim);
  c.give(diff(x, dim, c.integer_or("n", 1)));
}

void count_nonzero_rule(RuleContext& c) {
  c.give(count_nonzero(c.tensor("self"), c.ints_or("dim", {})));
}

void softmax_rule(RuleContext& c) {
  c.give(softmax(typed(c), c.integer("dim")));
}

void log_softmax_rule(RuleContext& c) {
  c.give(log_softmax(typed(c), c.integer("dim")));
}

}  // namespace

void add_reduce_rules(Rules& rules) {
  rules.insert({
      {"sum", over_dims<sum>},
      {"mean", over_dims<mean>},
      {"amax", over_dims<amax>},
      {"amin", over_dims<amin>},
      {"any", over_dims<any>},
      {"all", over_dims<all>},
      {"logsumexp", over_dims<logsumexp>},
      {"var", variance_rule},
      {"std", variance_rule},
      {"var_mean", var_mean_rule},
      {"std_mean", var_mean_rule},
      {"prod", prod_rule},
      {"linalg_vector_norm", norm_rule},
      {"norm", norm_rule},
      {"argmax", argmax_rule},
      {"argmin", argmin_rule},
      {"max", max_rule},
      {"min", min_rule},
      {"topk", topk_rule},
      {"sort", sort_rule},
      {"argsort", argsort_rule},
      {"cumsum", along_dim<cumsum>},
      {"cumprod", along_dim<cumprod>},
      {"diff", diff_rule},
      {"count_nonzero", count_nonzero_rule},
      {"softmax", softmax_rule},
      {"_softmax", softmax_rule},
      {"special_softmax", softmax_rule},
      {"log_softmax", log_softmax_rule},
      {"_log_softmax", log_softmax_rule},
      {"special_log_softmax", log_softmax_rule},
  });
}

}  // namespace braid::io::pt2
