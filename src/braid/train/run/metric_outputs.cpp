#include "braid/train/run/metric_outputs.h"

#include <algorithm>
#include <array>

#include "braid/base/error.h"
#include "braid/base/text.h"
#include "braid/ops/build/functions.h"
#include "braid/train/run/class_counts.h"

namespace braid::train {
namespace {

using Names = std::vector<std::string>;

bool wants(const Names& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

bool wants(const Names& names, MetricSource source) {
  return std::ranges::any_of(names, [&](const std::string& name) {
    const MetricKind* kind = find_metric_kind(name);
    return kind && kind->source == source;
  });
}

// The loss over classes that the model's loss is made from: its scores
// [..., C] and targets [...].
struct ClassScores {
  Var scores, target;
  int64_t ignored = 0;

  explicit operator bool() const { return static_cast<bool>(scores); }
  int64_t num_classes() const { return scores.shape().back(); }
};

ClassScores find_scores(Graph& graph) {
  ClassScores found;
  for (const Node& node : graph.nodes()) {
    if (!node.op->is_class_loss()) continue;
    Var target{&graph, node.inputs[1]};
    if (is_floating(target.dtype())) continue;
    found = {{&graph, node.inputs[0]},
             target,
             node.attrs.integer_or("ignore_index", -100)};
  }
  return found;
}

// A loss that compares numbers, element by element.
struct NumberLoss {
  const char* op;
  bool is_binary;  // between class 0 and class 1
  double middle;   // predictions above it are class 1
};

constexpr std::array<NumberLoss, 6> kNumberLosses{
    {{"mse_loss", false, 0},
     {"l1_loss", false, 0},
     {"smooth_l1_loss", false, 0},
     {"huber_loss", false, 0},
     {"binary_cross_entropy", true, 0.5},
     {"binary_cross_entropy_with_logits", true, 0}}};

struct Compared {
  Var predicted, target;
  double middle = 0;

  explicit operator bool() const { return static_cast<bool>(predicted); }
};

// The last such loss of the model.
Compared find_compared(Graph& graph, bool is_binary) {
  Compared found;
  for (const Node& node : graph.nodes()) {
    auto loss = std::ranges::find(kNumberLosses, node.op->name,
                                  [](const NumberLoss& l) { return l.op; });
    if (loss == kNumberLosses.end() || loss->is_binary != is_binary) continue;
    Var predicted{&graph, node.inputs[0]}, target{&graph, node.inputs[1]};
    if (predicted.shape() != target.shape()) continue;
    found = {predicted, target, loss->middle};
  }
  return found;
}

// The node that the loss is, but for its shape and type; null when it is an
// input.
const Node* loss_node(const Graph& graph) {
  ValueId id = graph.find_output("loss");
  while (id != kNone && graph.value(id).producer != kNone) {
    const Node& node = graph.node(graph.value(id).producer);
    bool passes_on = node.is(OpKind::kReshape) || node.is(OpKind::kCast) ||
                     node.is(OpKind::kCopy);
    if (!passes_on) return &node;
    id = node.inputs[0];
  }
  return nullptr;
}

// A mean over targets counts as often as there are any: batches with ignored
// ones are lighter, so that the whole is the mean over all of the data.
void add_loss_weight(Graph& eval) {
  const Node* node = loss_node(eval);
  bool is_mean =
      node && node->op->is_class_loss() && !node->attrs.has("reduction");
  if (!is_mean) return;
  Var weight{&eval, node->outputs.back()};
  eval.set_path("metrics");
  eval.add_output(kWeightOutput, cast(weight, DType::kFloat64).id);
}

Var total(Var flags) {
  return reshape(sum(cast(reshape(flags, {-1}), DType::kFloat64), {0}), {});
}

Var known_targets(const ClassScores& c) {
  return ne_scalar(c.target, Number(c.ignored));
}

// Scores of the targets, [..., 1].
Var own_scores(const ClassScores& c, Var known) {
  Var lane = unsqueeze(where(known, c.target, Number(int64_t{0})), -1);
  return gather(c.scores, -1, lane);
}

// Whether the target has the highest score, and that is a number.
Var is_best(const ClassScores& c, Var known) {
  Var own = own_scores(c, known);
  Var is_number = reshape(eq(own, own), c.target.shape());
  return logical_and(is_number, eq(argmax(c.scores, -1), c.target));
}

// How many scores of a row are above that of its target. A score that is no
// number is above all others, and all are above it.
Var rank_of_target(const ClassScores& c, Var known) {
  Var own = own_scores(c, known);
  Var above = cast(logical_not(le(c.scores, own)), DType::kInt64);
  return sum(above, {above.rank() - 1});
}

void add_rank_outputs(Graph& eval, const Names& names) {
  ClassScores c = find_scores(eval);
  if (!c) {
    fail_usage(
        "[metrics] accuracy and top5 need a loss over classes\n"
        "HINT: losses over classes are cross_entropy and nll");
  }
  eval.set_path("metrics");
  Var known = known_targets(c);
  eval.add_output(kCountOutput, total(known).id);
  if (wants(names, "accuracy")) {
    Var correct = logical_and(known, is_best(c, known));
    eval.add_output(kCorrectOutput, total(correct).id);
  }
  for (const std::string& name : names) {
    auto count = top_count(name);
    if (!count || eval.find_output(top_output(*count)) != kNone) continue;
    // With more than all classes a score that is no number would be near.
    Var near = lt_scalar(rank_of_target(c, known),
                         Number(std::min(*count, c.num_classes())));
    eval.add_output(top_output(*count), total(logical_and(known, near)).id);
  }
}

Var flat(Var x) { return reshape(x, {-1}); }

const Number kNothing{int64_t{-1}};

// The class with the highest score, the first of several.
void add_class_decisions(Graph& eval, const ClassScores& c) {
  Var known = known_targets(c);
  Var target = where(known, cast(c.target, DType::kInt64), kNothing);
  Var best = amax(c.scores, {-1});
  Var taken = where(eq(best, best), argmax(c.scores, -1), kNothing);
  eval.add_output(kTargetOutput, flat(target).id);
  eval.add_output(kTakenOutput, flat(taken).id);
}

// Targets stay as they are: whether they are 0 and 1 is seen in the data.
void add_binary_decisions(Graph& eval, const Compared& b) {
  Var is_one = gt_scalar(b.predicted, Number(b.middle));
  Var taken = where(eq(b.predicted, b.predicted), cast(is_one, DType::kInt64),
                    kNothing);
  eval.add_output(kTargetOutput, flat(cast(b.target, DType::kFloat64)).id);
  eval.add_output(kTakenOutput, flat(taken).id);
}

// Of two classes the difference says as much as the probability, and does not
// run out of digits where that is near 1.
Var scores_of(const ClassScores& c) {
  Var scores = cast(c.scores, DType::kFloat64);
  int64_t count = c.num_classes();
  if (count == 2) {
    return flat(sub(select(scores, -1, 1), select(scores, -1, 0)));
  }
  return reshape(log_softmax(scores, -1), {-1, count});
}

void check_binary(const Names& names, int64_t classes) {
  for (const char* name : {"precision", "recall", "f1"}) {
    if (!wants(names, name) || classes == 2) continue;
    fail_usage(
        "[metrics] '{}' is that of class 1 of two, and there are {} classes\n"
        "HINT: write {}_macro, {}_micro or {}_weighted",
        name, classes, name, name, name);
  }
}

void check_tables(const Names& tables, int64_t classes) {
  if (!wants(tables, kConfusionTable) || classes <= kMostConfused) return;
  fail_usage(
      "[metrics] a confusion matrix has at most {} classes, and there are {}\n"
      "HINT: the table '{}' has any number",
      kMostConfused, classes, kClassTable);
}

void add_decision_outputs(Graph& eval, const Names& names,
                          const Names& tables) {
  bool wants_scores = wants(names, MetricSource::kScores);
  ClassScores c = find_scores(eval);
  Compared b = c ? Compared{} : find_compared(eval, true);
  if (!c && !b) {
    fail_usage(
        "[metrics] precision, recall, f1, auc and tables need a loss over "
        "classes\n"
        "HINT: these are cross_entropy, nll, bce and bce_with_logits");
  }
  int64_t classes = c ? c.num_classes() : 2;
  check_binary(names, classes);
  check_tables(tables, classes);
  eval.set_path("metrics");
  c ? add_class_decisions(eval, c) : add_binary_decisions(eval, b);
  if (!wants_scores) return;
  Var scores = c ? scores_of(c) : flat(cast(b.predicted, DType::kFloat64));
  eval.add_output(kScoresOutput, scores.id);
}

// As rows and columns.
Var as_table(Var x) {
  Var numbers = cast(x, DType::kFloat64);
  int64_t rows = x.shape().empty() ? 1 : x.shape()[0];
  return reshape(numbers, {rows, x.numel() / std::max<int64_t>(rows, 1)});
}

void add_number_outputs(Graph& eval) {
  Compared numbers = find_compared(eval, false);
  if (!numbers) {
    fail_usage(
        "[metrics] mae, mse, rmse and r2 need a loss that compares numbers\n"
        "HINT: these are mse, l1, smooth_l1 and huber");
  }
  eval.set_path("metrics");
  eval.add_output(kPredictedOutput, as_table(numbers.predicted).id);
  eval.add_output(kTrueOutput, as_table(numbers.target).id);
}

[[noreturn]] void fail_unknown(const Graph& eval, const std::string& name) {
  Names known;
  for (const MetricKind& kind : metric_kinds()) known.push_back(kind.name);
  for (const Output& output : eval.outputs()) known.push_back(output.name);
  fail_usage("[metrics] the model has no output '{}'\nHINT: did you mean '{}'?",
             name, nearest_name(name, known));
}

}  // namespace

std::string top_output(int64_t count) {
  return fmt::format("{}{}", kCorrectOutput, count);
}

Names metric_outputs(const Names& names) {
  Names outputs;
  for (const std::string& name : names) {
    if (!find_metric_kind(name)) outputs.push_back(name);
  }
  return outputs;
}

Names default_metrics(const Graph& eval) {
  Graph copy = eval;
  ClassScores c = find_scores(copy);
  if (!c) return {"loss"};
  bool has_tokens = std::ranges::any_of(eval.nodes(), [](const Node& node) {
    return node.is(OpKind::kEmbedding);
  });
  return {"loss", has_tokens ? "perplexity" : "accuracy"};
}

int64_t num_classes(const Graph& eval) {
  Graph copy = eval;
  if (ClassScores c = find_scores(copy)) return c.num_classes();
  return find_compared(copy, true) ? 2 : 0;
}

void add_metric_outputs(Graph& eval, const Names& names, const Names& tables) {
  add_loss_weight(eval);
  if (wants(names, MetricSource::kRanks)) add_rank_outputs(eval, names);
  bool has_decisions = wants(names, MetricSource::kDecisions) ||
                       wants(names, MetricSource::kScores) || !tables.empty();
  if (has_decisions) add_decision_outputs(eval, names, tables);
  if (wants(names, MetricSource::kNumbers)) add_number_outputs(eval);
  for (const std::string& name : metric_outputs(names)) {
    ValueId output = eval.find_output(name);
    if (output == kNone) fail_unknown(eval, name);
    const ValueType& type = eval.value(output).type;
    bool fits = num_elements(type.shape) == 1 && is_floating(type.dtype);
    if (fits) continue;
    fail_usage("[metrics] output '{}' is {}{}, expected one float", name,
               dtype_name(type.dtype), shape_text(type.shape));
  }
}

}  // namespace braid::train
