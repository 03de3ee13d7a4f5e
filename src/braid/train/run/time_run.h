// What the calls of a run take, by taking a few of its steps.
#pragma once

#include <string>

#include "braid/plan/profile.h"
#include "braid/train/array/array_plans.h"
#include "braid/train/run/run.h"

namespace braid::train {

struct TimedRun {
  int64_t steps = 0;  // 0: the profile knew all calls before
  int64_t calls = 0;  // that it did not know
};

// Adds the seconds of every call in a few steps of the run, on its own data and
// within its limits; also by how much arithmetic was off for each operator.
// The run should write nothing: it is of no use afterwards. Nothing else should
// run on the machine meanwhile. Blocks.
TimedRun time_run(Run& run, plan::Profile& profile);

// The profile with all that a run of these jobs goes by: rates of the device,
// and seconds of calls. Blocks while it measures what is missing. Throws as Run
// does when the jobs do not fit their limits.
// `options` are those of the run that will be, without files.
TimedRun complete_profile(const std::vector<const Job*>& jobs,
                          plan::Profile& profile, RunOptions options = {});

// The same for the arrays of a list whose plans go by it: those with a limit.
void time_calls(const runtime::Machine& machine,
                const std::vector<NamedJob>& jobs, const ArrayPlans& plans,
                plan::Profile& profile);

// "profile 37 calls were measured in 5 steps: FILE"
std::string timed_words(const TimedRun& timed, const std::string& file);

}  // namespace braid::train
