// The optimizer that a job asks for.
#pragma once

#include <string>
#include <vector>

#include "braid/passes/step/optimizer.h"
#include "braid/train/job/job_config.h"

namespace braid::train {

// With the values and groups, the job's `clip`, `ema` and `on_nan`. Throws
// std::invalid_argument about the first value that the kind does not take.
passes::Optimizer optimizer_of(const JobConfig& job);
passes::Optimizer optimizer_of(const JobConfig& job,
                               const NetworkConfig& network);

// What is wrong with the optimizer and groups under `prefix` ("networks.g.").
std::vector<KeyProblem> optimizer_problems(
    const std::string& prefix, const OptimizerConfig& optimizer,
    const std::vector<GroupConfig>& groups);

}  // namespace braid::train
