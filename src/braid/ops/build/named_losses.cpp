#include "braid/ops/build/named_losses.h"

#include <algorithm>
#include <cmath>

#include "braid/base/error.h"
#include "braid/base/text.h"
#include "braid/ops/build/functions.h"

namespace braid {
namespace {

CallValue number(std::string name, double value) {
  return {std::move(name), {value}, false};
}

ClassLoss class_loss(const LossValues& values) {
  ClassLoss loss;
  loss.ignore_index = static_cast<int64_t>(values("ignore_index"));
  return loss;
}

std::vector<LossKind> make_kinds() {
  return {
      {"cross_entropy",
       {number("label_smoothing", 0), number("ignore_index", -100)},
       "softmax and negative log likelihood of classes",
       true,
       [](Var y, Var t, const LossValues& v) {
         ClassLoss loss = class_loss(v);
         loss.label_smoothing = v("label_smoothing");
         return cross_entropy_loss(y, t, loss);
       }},
      {"nll",
       {number("ignore_index", -100)},
       "negative log likelihood of classes, of log-probabilities",
       true,
       [](Var y, Var t, const LossValues& v) {
         return nll_loss(y, t, class_loss(v));
       }},
      {"mse",
       {},
       "mean squared difference",
       false,
       [](Var y, Var t, const LossValues&) { return mse_loss(y, t); }},
      {"l1",
       {},
       "mean absolute difference",
       false,
       [](Var y, Var t, const LossValues&) { return l1_loss(y, t); }},
      {"smooth_l1",
       {number("beta", 1)},
       "squared below beta, absolute above",
       false,
       [](Var y, Var t, const LossValues& v) {
         return smooth_l1_loss(y, t, v("beta"));
       }},
      {"huber",
       {number("delta", 1)},
       "smooth_l1 times delta",
       false,
       [](Var y, Var t, const LossValues& v) {
         return huber_loss(y, t, v("delta"));
       }},
      {"bce",
       {},
       "binary cross entropy of probabilities",
       false,
       [](Var y, Var t, const LossValues&) {
         return binary_cross_entropy(y, t);
       }},
      {"bce_with_logits",
       {},
       "sigmoid and binary cross entropy",
       false,
       [](Var y, Var t, const LossValues&) {
         return binary_cross_entropy_with_logits(y, t);
       }},
  };
}

const LossKind& find_kind(const std::string& name) {
  std::vector<std::string> known;
  for (const LossKind& kind : loss_kinds()) {
    if (kind.name == name) return kind;
    known.push_back(kind.name);
  }
  fail_usage("[loss] unknown loss '{}'\nHINT: {}", name,
             name_hint(name, known));
}

void set_value(const LossKind& kind, std::vector<CallValue>& values,
               const CallValue& given) {
  auto found = std::ranges::find(values, given.name, &CallValue::name);
  if (found == values.end()) {
    std::vector<std::string> known;
    for (const CallValue& value : values) known.push_back(value.name);
    fail_usage("[loss] {} has no value '{}'{}", kind.name, given.name,
               known.empty()
                   ? ""
                   : fmt::format("\nHINT: {}", name_hint(given.name, known)));
  }
  if (given.is_list || given.numbers.size() != 1) {
    fail_usage("[loss] {}: {} is one number", kind.name, given.name);
  }
  found->numbers = given.numbers;
}

// What a value may be; the names mean the same in every kind.
void check_range(const LossKind& kind, const CallValue& value) {
  double number = value.numbers[0];
  auto expect = [&](bool holds, std::string_view what) {
    if (holds) return;
    fail_usage("[loss] {}: expected {} {}, got {}", kind.name, value.name, what,
               number);
  };
  if (value.name == "ignore_index") {
    bool is_whole = std::trunc(number) == number && std::abs(number) < 1e15;
    expect(is_whole, "to be a whole number");
  }
  if (value.name == "label_smoothing") {
    expect(number >= 0 && number <= 1, "from 0 to 1");
  }
  if (value.name == "beta") expect(number >= 0 && number < INFINITY, "from 0");
  if (value.name == "delta") {
    expect(number > 0 && number < INFINITY, "above 0");
  }
}

Shape without(Shape shape, size_t dim) {
  shape.erase(shape.begin() + static_cast<int64_t>(dim));
  return shape;
}

// Scores of classes lie in dimension 1, as in PyTorch, or in the last one
// where only that fits.
Var classes_second(Var y, Var target) {
  if (y.rank() < 3 || without(y.shape(), 1) == target.shape()) return y;
  auto last = static_cast<size_t>(y.rank() - 1);
  if (without(y.shape(), last) != target.shape()) return y;
  for (int64_t dim = y.rank() - 1; dim > 1; --dim) {
    y = transpose(y, dim, dim - 1);
  }
  return y;
}

// One number per sample may keep a last dimension of one: [N, 1] is compared
// with [N] as [N].
Var as_shape_of(Var value, Var other) {
  Shape shape = value.shape();
  if (shape.empty() || shape.back() != 1) return value;
  shape.pop_back();
  return shape == other.shape() ? reshape(value, shape) : value;
}

}  // namespace

double LossValues::operator()(std::string_view name) const {
  return std::ranges::find(values_, name, &CallValue::name)->numbers.at(0);
}

const std::vector<LossKind>& loss_kinds() {
  static const std::vector<LossKind> kinds = make_kinds();
  return kinds;
}

Var NamedLossCall::operator()(Var y, Var target) const {
  if (is_floating(target.dtype())) target = cast(target, y.dtype());
  if (!kind->takes_classes) {
    y = as_shape_of(y, target);
    target = as_shape_of(target, y);
  }
  if (!kind->takes_classes && target.shape() != y.shape()) {
    fail_usage("[loss] {} compares {} with {}", kind->name,
               shape_text(y.shape()), shape_text(target.shape()));
  }
  if (kind->takes_classes) y = classes_second(y, target);
  return kind->build(y, target, values);
}

NamedLossCall parse_loss(std::string_view text) {
  CallText call = parse_call(text, "[loss]");
  const LossKind& kind = find_kind(call.name);
  std::vector<CallValue> values = kind.values;
  for (const CallValue& given : call.values) set_value(kind, values, given);
  for (const CallValue& value : values) check_range(kind, value);
  return {&kind, LossValues(std::move(values))};
}

std::string signature_text(const LossKind& kind) {
  return call_text({kind.name, kind.values});
}

}  // namespace braid
