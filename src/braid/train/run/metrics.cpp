#include "braid/train/run/metrics.h"

#include <algorithm>
#include <cmath>

#include "braid/base/error.h"

namespace braid::train {
namespace {

using Names = std::vector<std::string>;

bool has_source(const Names& names, MetricSource source) {
  return std::ranges::any_of(names, [&](const std::string& name) {
    const MetricKind* kind = find_metric_kind(name);
    return kind && kind->source == source;
  });
}

// Outputs whose sums are counts of targets.
Names count_outputs(const Names& names) {
  Names outputs;
  if (!has_source(names, MetricSource::kRanks)) return outputs;
  outputs.push_back(kCountOutput);
  for (const std::string& name : names) {
    if (name == "accuracy") outputs.push_back(kCorrectOutput);
    if (auto count = top_count(name)) outputs.push_back(top_output(*count));
  }
  std::ranges::sort(outputs);
  auto twice = std::ranges::unique(outputs);
  outputs.erase(twice.begin(), twice.end());
  return outputs;
}

// A binary cross entropy takes any number for a target; a decision does not.
int64_t class_of(double target) {
  bool is_class = std::trunc(target) == target;
  if (is_class) return static_cast<int64_t>(target);
  fail_usage(
      "[metrics] precision, recall, f1 and auc need targets of 0 and 1, got "
      "{}",
      target);
}

}  // namespace

MetricSums::MetricSums(Names names, int64_t classes, Names tables)
    : names_(std::move(names)) {
  bool has_scores = has_source(names_, MetricSource::kScores);
  if (has_source(names_, MetricSource::kDecisions) || !tables.empty()) {
    bool has_matrix =
        std::ranges::find(tables, kConfusionTable) != tables.end();
    counts_.emplace(classes, has_matrix);
  }
  if (has_scores) areas_.emplace(classes == 2 ? 1 : classes);
}

void MetricSums::add(const runtime::Executor& executor, int64_t rows,
                     size_t lane) {
  EvalOutputs outputs(executor);
  add(outputs, rows, lane);
}

void MetricSums::add(EvalOutputs& outputs, int64_t rows, size_t lane) {
  auto weight = static_cast<double>(rows);
  rows_ += weight;
  bool has_own = outputs.has(kWeightOutput, lane);
  double of_loss = has_own ? outputs.number(kWeightOutput, lane) : weight;
  loss_weight_ += of_loss;
  // A batch without any target has no loss.
  if (of_loss != 0) sums_["loss"] += outputs.loss(lane) * of_loss;
  for (const std::string& name : count_outputs(names_)) {
    sums_[name] += outputs.number(name, lane);
  }
  for (const std::string& name : metric_outputs(names_)) {
    sums_[name] += outputs.number(name, lane) * weight;
  }
  if (counts_ || areas_) add_decisions(outputs, lane);
  if (has_source(names_, MetricSource::kNumbers)) {
    add_numbers(outputs, rows, lane);
  }
}

void MetricSums::add_decisions(EvalOutputs& outputs, size_t lane) {
  std::vector<double> targets = outputs.numbers(kTargetOutput, lane);
  std::vector<double> taken = outputs.numbers(kTakenOutput, lane);
  std::vector<double> scores;
  if (areas_) scores = outputs.numbers(kScoresOutput, lane);
  for (size_t i = 0; i < targets.size(); ++i) {
    int64_t target = class_of(targets[i]);
    if (target < 0) continue;  // it is ignored
    if (counts_) counts_->add(target, static_cast<int64_t>(taken[i]));
    if (!areas_) continue;
    int64_t curves = areas_->num_curves();
    for (int64_t c = 0; c < curves; ++c) {
      double score =
          scores[i * static_cast<size_t>(curves) + static_cast<size_t>(c)];
      areas_->add(c, score, curves == 1 ? target == 1 : target == c);
    }
  }
}

// predicted[N, D], target[N, D]
void MetricSums::add_numbers(EvalOutputs& outputs, int64_t rows, size_t lane) {
  std::vector<double> predicted = outputs.numbers(kPredictedOutput, lane);
  std::vector<double> target = outputs.numbers(kTrueOutput, lane);
  size_t columns = predicted.size() / static_cast<size_t>(rows);
  if (!numbers_) numbers_.emplace(static_cast<int64_t>(columns));
  for (size_t i = 0; i < predicted.size(); i += columns) {
    numbers_->add({predicted.data() + i, columns},
                  {target.data() + i, columns});
  }
}

double MetricSums::value(const std::string& name, double loss) {
  if (name == "perplexity") return std::exp(loss);
  if (name == "accuracy")
    return sums_.at(kCorrectOutput) / sums_.at(kCountOutput);
  if (auto count = top_count(name)) {
    return sums_.at(top_output(*count)) / sums_.at(kCountOutput);
  }
  const MetricKind* kind = find_metric_kind(name);
  if (!kind) return sums_.at(name) / rows_;
  switch (kind->source) {
    case MetricSource::kDecisions: return counts_->value(name);
    case MetricSource::kScores: return areas_->mean_area();
    default: return numbers_ ? numbers_->value(name) : NAN;
  }
}

std::map<std::string, double> MetricSums::values() {
  auto found = sums_.find("loss");
  double loss = (found == sums_.end() ? 0 : found->second) / loss_weight_;
  std::map<std::string, double> values{{"loss", loss}};
  for (const std::string& name : names_) {
    if (name != "loss") values[name] = value(name, loss);
  }
  return values;
}

}  // namespace braid::train
