// The choice of a plan that fits limits at the least time. A solver proposes
// plans by their rows (plan/program_rows.h); whether one fits and how long it
// takes is asked of its own programs, so the limits are kept exactly.
//
// How many questions are asked depends on sizes alone, never on the clock: the
// same model and limits always get the same plan.
#pragma once

#include <functional>
#include <optional>

#include "braid/plan/program_rows.h"
#include "braid/plan/solve/solve.h"

namespace braid::compile {

// What the programs of a plan are found to take.
struct PlanTrial {
  double seconds = 0;      // of a step, by prediction
  int64_t bytes = 0;       // of the device
  int64_t host_bytes = 0;  // of the host
};
using TryPlan = std::function<PlanTrial(const plan::Plan&)>;

struct ChoiceOptions {
  int64_t limit_bytes = kNoLimit;
  int64_t host_limit_bytes = kNoLimit;
  bool has_file = false;  // slots may lie in one
  std::vector<plan::Order> orders = {plan::Order::kMicroBatches};
  plan::SolveOptions solve = {};
  int most_trials = 100;
};

struct PlanChoice {
  plan::Plan plan = {};
  PlanTrial trial = {};
  double unlimited_s = 0;  // with everything kept that may be
  // Of the rows, what the solver said last; none when nothing had to be saved.
  std::optional<plan::Solution> solution = {};
  bool fits = false;  // else the plan that takes the least
  int num_trials = 0;
};

// Makes rows when they are needed.
using MakeRows = std::function<plan::ProgramRows(plan::Order)>;

PlanChoice choose_plan(const plan::PartialPlan& given, const MakeRows& rows,
                       const ChoiceOptions& options, const TryPlan& try_plan);

}  // namespace braid::compile
