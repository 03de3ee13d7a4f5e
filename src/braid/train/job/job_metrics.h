// Metrics as a job names them: those to count, to stop early by, and to keep
// the best checkpoint by.
#pragma once

#include <string>
#include <vector>

#include "braid/train/job/job_config.h"

namespace braid::train {

// Throws std::invalid_argument when a name of `eval.metrics` is neither a kind
// of metric nor one of the model's outputs.
void check_metric_names(const std::vector<std::string>& names,
                        std::vector<std::string> outputs);

// A metric that a run goes by.
struct Watched {
  std::string metric = "loss";
  bool higher_is_better = false;

  bool operator==(const Watched&) const = default;
};

// What a job calls best: `checkpoint.best`, else the metric of early stopping
// where it names one, else the first of `eval.metrics`, else the first that
// suits the loss (accuracy, perplexity), else the loss. `metrics` are those
// that are counted. `eval.early_stop.mode` says which way it gets better where
// early stopping watches the same metric.
Watched best_by(const JobConfig& job, const std::vector<std::string>& metrics);

// What early stopping watches: its own metric, else what the job calls best.
Watched stops_by(const JobConfig& job, const std::vector<std::string>& metrics);

// Throws std::invalid_argument when what the job watches is not among the
// metrics that it counts; the loss always is.
void check_watched(const JobConfig& job, std::vector<std::string> metrics);

// The same for a job without anything to evaluate: it watches nothing.
void check_unwatched(const JobConfig& job);

}  // namespace braid::train
