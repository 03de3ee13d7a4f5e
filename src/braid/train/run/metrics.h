// Metrics of an evaluation: the values over all batches, each exact for the
// whole of the data however it is cut into batches.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "braid/train/run/class_counts.h"
#include "braid/train/run/eval_outputs.h"
#include "braid/train/run/metric_outputs.h"
#include "braid/train/run/number_sums.h"
#include "braid/train/run/roc_areas.h"

namespace braid::train {

// The values of one member over the batches that were added so far.
class MetricSums {
 public:
  // `tables` as add_metric_outputs() got them; `classes` is num_classes() of
  // the model where a metric or a table is of decisions.
  explicit MetricSums(std::vector<std::string> names, int64_t classes = 0,
                      std::vector<std::string> tables = {});

  // The last run of an evaluation, over a batch of so many rows; of an array
  // the member in that lane.
  void add(EvalOutputs& outputs, int64_t rows, size_t lane = 0);
  void add(const runtime::Executor& executor, int64_t rows, size_t lane = 0);

  // Reads scores that went to the disk.
  std::map<std::string, double> values();
  // What tables are written from; null without any.
  const ClassCounts* counts() const { return counts_ ? &*counts_ : nullptr; }

 private:
  void add_decisions(EvalOutputs& outputs, size_t lane);
  void add_numbers(EvalOutputs& outputs, int64_t rows, size_t lane);
  double value(const std::string& name, double loss);

  std::vector<std::string> names_;
  std::map<std::string, double> sums_;
  double rows_ = 0, loss_weight_ = 0;
  std::optional<ClassCounts> counts_;
  std::optional<RocAreas> areas_;
  std::optional<NumberSums> numbers_;  // once its columns are known
};

}  // namespace braid::train
