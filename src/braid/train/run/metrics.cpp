#include "braid/train/run/metrics.h"

#include <algorithm>
#include <cmath>

#include "braid/base/error.h"
#include "braid/base/narrow_float.h"
#include "braid/base/text.h"
#include "braid/ops/build/functions.h"
#include "braid/train/array/index_ranges.h"

namespace braid::train {
namespace {

constexpr const char* kWeight = "metric/weight";  // of the loss
constexpr const char* kCount = "metric/count";
constexpr const char* kCorrect = "metric/correct";
constexpr const char* kCorrect5 = "metric/correct5";
constexpr int64_t kTop = 5;

bool wants(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

bool is_made_here(const std::string& name) {
  return std::ranges::any_of(metric_kinds(), [&](const MetricKind& kind) {
    return kind.name == name;
  });
}

// The loss over classes that the model's loss is made from: its scores
// [..., C] and targets [...].
struct ClassScores {
  Var scores, target;
  int64_t ignored = 0;

  explicit operator bool() const { return static_cast<bool>(scores); }
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
  eval.add_output(kWeight, cast(weight, DType::kFloat64).id);
}

Var total(Var flags) {
  return reshape(sum(cast(reshape(flags, {-1}), DType::kFloat64), {0}), {});
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

void add_class_outputs(Graph& eval, const std::vector<std::string>& names) {
  ClassScores c = find_scores(eval);
  if (!c) {
    fail_usage(
        "[metrics] accuracy and top5 need a loss over classes\n"
        "HINT: losses over classes are cross_entropy and nll");
  }
  eval.set_path("metrics");
  Var known = ne_scalar(c.target, Number(c.ignored));
  eval.add_output(kCount, total(known).id);
  if (wants(names, "accuracy")) {
    Var correct = logical_and(known, is_best(c, known));
    eval.add_output(kCorrect, total(correct).id);
  }
  if (wants(names, "top5")) {
    Var near = lt_scalar(rank_of_target(c, known), Number(kTop));
    eval.add_output(kCorrect5, total(logical_and(known, near)).id);
  }
}

[[noreturn]] void fail_unknown(const Graph& eval, const std::string& name) {
  std::vector<std::string> known;
  for (const MetricKind& kind : metric_kinds()) known.push_back(kind.name);
  for (const Output& output : eval.outputs()) known.push_back(output.name);
  fail_usage("[metrics] the model has no output '{}'\nHINT: {}", name,
             name_hint(name, known));
}

double number_of(const runtime::Executor& executor, const std::string& name,
                 size_t lane) {
  const Graph& graph = executor.program().graph;
  DType dtype = graph.value(graph.find_output(name)).type.dtype;
  std::vector<std::byte> bytes = executor.output(name);
  auto item = static_cast<size_t>(item_bytes(dtype));
  return number_at(bytes.data() + lane * item, dtype);
}

}  // namespace

std::vector<std::string> metric_outputs(const std::vector<std::string>& names) {
  std::vector<std::string> outputs;
  for (const std::string& name : names) {
    if (!is_made_here(name)) outputs.push_back(name);
  }
  return outputs;
}

std::vector<std::string> default_metrics(const Graph& eval) {
  Graph copy = eval;
  ClassScores c = find_scores(copy);
  if (!c) return {"loss"};
  bool has_tokens = std::ranges::any_of(eval.nodes(), [](const Node& node) {
    return node.is(OpKind::kEmbedding);
  });
  return {"loss", has_tokens ? "perplexity" : "accuracy"};
}

void add_metric_outputs(Graph& eval, const std::vector<std::string>& names) {
  add_loss_weight(eval);
  if (wants(names, "accuracy") || wants(names, "top5")) {
    add_class_outputs(eval, names);
  }
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

void MetricSums::add(const runtime::Executor& executor, int64_t rows,
                     size_t lane) {
  const Graph& graph = executor.program().graph;
  auto weight = static_cast<double>(rows);
  rows_ += weight;
  bool has_own = graph.find_output(kWeight) != kNone;
  double of_loss = has_own ? number_of(executor, kWeight, lane) : weight;
  loss_weight_ += of_loss;
  // A batch without any target has no loss.
  if (of_loss != 0) sums_["loss"] += executor.losses().at(lane) * of_loss;
  for (const Output& output : graph.outputs()) {
    if (output.name == "loss" || output.name == kWeight) continue;
    bool is_count = output.name.starts_with("metric/");
    sums_[output.name] +=
        number_of(executor, output.name, lane) * (is_count ? 1 : weight);
  }
}

std::map<std::string, double> MetricSums::values() const {
  auto loss = sums_.find("loss");
  double sum = loss == sums_.end() ? 0 : loss->second;
  std::map<std::string, double> values{{"loss", sum / loss_weight_}};
  for (const std::string& name : names_) {
    if (name == "loss") continue;
    if (name == "accuracy") {
      values[name] = sums_.at(kCorrect) / sums_.at(kCount);
    } else if (name == "top5") {
      values[name] = sums_.at(kCorrect5) / sums_.at(kCount);
    } else if (name == "perplexity") {
      values[name] = std::exp(values.at("loss"));
    } else {
      values[name] = sums_.at(name) / rows_;
    }
  }
  return values;
}

}  // namespace braid::train
