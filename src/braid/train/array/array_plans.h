// A list of jobs as arrays: signatures, costs and grouping together.
#pragma once

#include <vector>

#include "braid/runtime/machine.h"
#include "braid/train/array/grouping.h"
#include "braid/train/job/job_list.h"

namespace braid::train {

struct ArrayPlanOptions {
  plan::Profile profile = {};
  int devices = 1;     // that the arrays share
  bool arrays = true;  // false: every job by itself
};

// The jobs of a list by group, and why.
struct ArrayPlans {
  std::vector<GroupingJob> jobs = {};  // in the order of the list
  std::vector<ArrayPlan> arrays = {};
};

// Jobs of one signature are grouped (grouping.h); those that are alone with
// theirs join others with whom they have most layers in common.
// Opens one job of each kind, so that what is wrong with any of them shows:
// errors are those of Job, with the name of the job in a list of several.
// Compiles arrays, but allocates and trains nothing. Blocks meanwhile.
ArrayPlans plan_arrays(const runtime::Machine& machine,
                       const std::vector<NamedJob>& jobs,
                       const ArrayPlanOptions& options = {});

// Times the lowerings of convolutions of these arrays that the profile has no
// seconds for, and adds them. Blocks while it measures.
void time_arrays(const runtime::Machine& machine,
                 const std::vector<NamedJob>& jobs, const ArrayPlans& plans,
                 plan::Profile& profile);

}  // namespace braid::train
