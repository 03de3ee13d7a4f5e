// Rows: what each decision about a segment costs, as the numbers that solvers
// choose by (solve/instance.h).
//
// They are read off real programs: one for every decision, taken by all
// segments at once, with nothing ahead. So kernels' scratch, updates in place
// and copies that the emitter saves are in them. What a plan of mixed decisions
// takes may still differ a little, for example where a segment keeps what only
// its neighbour reads; its own program says exactly.
#pragma once

#include <vector>

#include "braid/plan/compile.h"
#include "braid/plan/named_plan.h"
#include "braid/plan/simulator.h"
#include "braid/plan/solve/instance.h"

namespace braid::plan {

struct ProgramRows {
  Order order = Order::kMicroBatches;
  Instance instance;                             // without limits and depths
  std::vector<std::vector<Decision>> decisions;  // by segment, by mode

  // The plan that a choice of modes stands for.
  Plan plan_of(const std::vector<int32_t>& modes, int depth) const;
};

// What times and bytes go by. Borrowed.
struct RowsRequest {
  const PartialPlan& given;
  const Durations& durations;
  const WorkspaceRule& workspace;
  Sharing sharing = {};   // see simulate()
  bool has_file = false;  // slots may lie in one
  Order order = Order::kMicroBatches;
};

// Rows of the decisions that the plan leaves open; where it decides, of that
// one alone.
ProgramRows program_rows(const OpTable& ops, const passes::StepGraph& step,
                         const std::vector<std::string>& segments,
                         const RowsRequest& request);

}  // namespace braid::plan
