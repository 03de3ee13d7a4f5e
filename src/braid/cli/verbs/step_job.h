// StepJob: all that a `step` run needs, read and checked before anything is
// built or written: jobs over given tensors, and what is said of them.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "braid/cli/verbs/step_options.h"
#include "braid/compile/program_set.h"
#include "braid/runtime/machine.h"
#include "braid/train/job/job.h"

namespace braid::cli {

struct StepJob {
  std::vector<std::unique_ptr<train::Job>> members;  // one for one model
  bool is_array = false;
  compile::PlanRequest plan;  // what it leaves open fits the limit
  // Whether a member leaves out steps that are not finite.
  std::vector<bool> skips;
  // What the results depend on. Steps, checkpoints, limit and plan are left
  // out: they may change when a run goes on.
  nlohmann::json arguments;

  const train::Job& first() const { return *members[0]; }
  int64_t num_lanes() const { return is_array ? std::ssize(members) : 0; }
};

// Borrows the machine.
StepJob read_job(const runtime::Machine& machine, const StepOptions& options);

}  // namespace braid::cli
