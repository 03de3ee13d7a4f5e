// Values made of nothing, and operators that do nothing here.
#include "braid/base/error.h"
#include "braid/io/pt2/rule.h"

namespace braid::io::pt2 {
namespace {

Var filled(RuleContext& c, const Shape& shape, double value) {
  return full(c.anchor(), shape, value, c.type_or_result("dtype"));
}

template <int kValue>
void sized_rule(RuleContext& c) {
  c.give(filled(c, c.ints("size"), kValue));
}

template <int kValue>
void like_rule(RuleContext& c) {
  c.give(filled(c, c.tensor("self").shape(), kValue));
}

void full_rule(RuleContext& c) {
  c.give(filled(c, c.ints("size"), c.number("fill_value")));
}

void full_like_rule(RuleContext& c) {
  c.give(filled(c, c.tensor("self").shape(), c.number("fill_value")));
}

void scalar_tensor_rule(RuleContext& c) {
  c.give(filled(c, {}, c.number("s")));
}

void arange_rule(RuleContext& c) {
  c.give(arange(c.anchor(), c.number_or("start", 0), c.number("end"),
                c.number_or("step", 1), c.type_or_result("dtype")));
}

void linspace_rule(RuleContext& c) {
  c.give(linspace(c.anchor(), c.number("start"), c.number("end"),
                  c.integer("steps"), c.type_or_result("dtype")));
}

void eye_rule(RuleContext& c) {
  int64_t rows = c.integer("n");
  c.give(eye(c.anchor(), rows, c.integer_or("m", rows),
             c.type_or_result("dtype")));
}

void one_hot_rule(RuleContext& c) {
  int64_t classes = c.integer_or("num_classes", -1);
  if (classes < 0) fail_usage("one_hot without a number of classes");
  c.give(one_hot(c.tensor("self"), classes));
}

void histc_rule(RuleContext& c) {
  Var x = c.tensor("self");
  c.give(histc(x, c.integer_or("bins", 100), c.number_or("min", 0),
               c.number_or("max", 0)));
}

// How many counts there are depends on data, unless the module or the export
// says so: torch._check(counts.shape[0] == n). A number beyond them is an error
// of the step, as in PyTorch the check is.
void bincount_rule(RuleContext& c) {
  if (c.has("weights")) fail_usage("counts with weights");
  const TensorMeta* counts = c.meta_of_result(0);
  if (!counts || counts->sizes.size() != 1 ||
      !counts->sizes[0].symbol.empty()) {
    fail_usage(
        "the number of counts depends on data\nHINT: torch.histc(x.float(), n, "
        "0, n - 1), or one_hot(x, n).sum(0), counts numbers below n");
  }
  c.give(bincount(c.tensor("self"), counts->sizes[0].value));
}

void nothing(RuleContext&) {}

void sym_size_rule(RuleContext& c) {
  Var x = c.tensor("self");
  c.give_scalar(x.dim(c.integer("dim")));
}

void sym_numel_rule(RuleContext& c) { c.give_scalar(c.tensor("self").numel()); }

}  // namespace

void add_factory_rules(Rules& rules) {
  rules.insert({
      {"zeros", sized_rule<0>},
      {"ones", sized_rule<1>},
      {"empty", sized_rule<0>},
      {"new_zeros", sized_rule<0>},
      {"new_ones", sized_rule<1>},
      {"new_empty", sized_rule<0>},
      {"zeros_like", like_rule<0>},
      {"ones_like", like_rule<1>},
      {"empty_like", like_rule<0>},
      {"full", full_rule},
      {"new_full", full_rule},
      {"full_like", full_like_rule},
      {"scalar_tensor", scalar_tensor_rule},
      {"arange", arange_rule},
      {"linspace", linspace_rule},
      {"eye", eye_rule},
      {"one_hot", one_hot_rule},
      {"histc", histc_rule},
      {"bincount", bincount_rule},
      {"_assert_tensor_metadata", nothing},
      {"_assert_scalar", nothing},
      {"_assert_async", nothing},
      {"sym_constrain_range", nothing},
      {"sym_constrain_range_for_size", nothing},
      {"_check_is_size", nothing},
      {"sym_size", sym_size_rule},
      {"sym_numel", sym_numel_rule},
  });
}

}  // namespace braid::io::pt2
