// The plan of a job: what is done about the memory of each segment, by hand. A
// job holds it as `plan`, or names a file:
//
//   depth: 1
//   join: ["blocks.0, blocks.1"]
//   segments:
//     default: keep
//     blocks.0: recompute,spilled,host
//     "blocks.*.mlp": recompute
#pragma once

#include <filesystem>

#include "braid/compile/program_set.h"
#include "braid/train/job/job_config.h"

namespace braid::train {

// Throws std::invalid_argument with the line of what is wrong,
// std::runtime_error when the file cannot be read.
plan::NamedPlan read_plan_file(const std::filesystem::path& path);

// The same with the file that the job names, if any.
plan::NamedPlan named_plan(const PlanConfig& config);

// The plan that is given; what it leaves open is chosen to fit the limit.
compile::PlanRequest plan_request(const PlanConfig& config);

}  // namespace braid::train
