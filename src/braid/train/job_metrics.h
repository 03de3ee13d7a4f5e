// Metrics as a job names them: those to count, to stop early by, and to keep
// the best checkpoint by.
#pragma once

#include <string>
#include <vector>

#include "braid/train/job_config.h"

namespace braid::train {

// Throws std::invalid_argument when a name of `eval.metrics` is neither a kind
// of metric nor one of the model's outputs.
void check_metric_names(const std::vector<std::string>& names,
                        std::vector<std::string> outputs);

// Throws std::invalid_argument when what the job watches is not among the
// metrics that it counts; the loss always is.
void check_watched(const JobConfig& job, std::vector<std::string> metrics);

// The same for a job without anything to evaluate: it watches nothing.
void check_unwatched(const JobConfig& job);

}  // namespace braid::train
