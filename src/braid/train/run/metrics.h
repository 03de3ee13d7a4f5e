// Metrics of an evaluation: what is added to the model's eval form to count
// them, and the values over all batches.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "braid/runtime/executor.h"
#include "braid/train/job/metric_kinds.h"

namespace braid::train {

// The names of outputs that a model must keep for these metrics.
std::vector<std::string> metric_outputs(const std::vector<std::string>& names);

// "loss" and what suits the model: "accuracy" of classes, "perplexity" of
// tokens.
std::vector<std::string> default_metrics(const Graph& eval);

// Adds the outputs that these metrics are counted from. Throws when the model
// has no loss over classes, or an output is not one number.
void add_metric_outputs(Graph& eval, const std::vector<std::string>& names);

// The values over the batches that were added so far.
class MetricSums {
 public:
  explicit MetricSums(std::vector<std::string> names)
      : names_(std::move(names)) {}

  // The last run of an evaluation, over a batch of so many rows; of an array
  // the member in that lane.
  void add(const runtime::Executor& executor, int64_t rows, size_t lane = 0);
  std::map<std::string, double> values() const;

 private:
  std::vector<std::string> names_;
  std::map<std::string, double> sums_;
  double rows_ = 0, loss_weight_ = 0;
};

}  // namespace braid::train
