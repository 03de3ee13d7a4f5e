// What arrays of jobs take on a device that they share, known before any of
// them trains.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "braid/compile/program_cache.h"
#include "braid/plan/profile.h"
#include "braid/train/job/job.h"
#include "braid/train/jobs/job_devices.h"

namespace braid::train {

struct WorkPlan {
  int64_t steps = 0;                                 // that the array takes
  double step_s = 0, compute_s = 0, transfer_s = 0;  // see compile::ProgramSet
  int64_t peak_bytes = 0, host_bytes = 0;
  bool saves_memory = false;  // to keep the limit something is left out
  std::string problem = {};   // why it cannot train there; empty: it can
};

// Arrays of jobs, each a list of at least one.
using JobArrays = std::vector<std::vector<const Job*>>;

// The arrays by themselves on a device of which so many share the memory.
// Compiles each kind once, into the cache. Blocks; prints nothing.
std::vector<WorkPlan> plan_works(const JobArrays& arrays,
                                 const JobDevices& devices, int at_once,
                                 const plan::Profile& profile,
                                 compile::ProgramCache& programs);

struct SharingPlan {
  int at_once = 1;
  std::vector<WorkPlan> works = {};
};

// How many jobs take turns on a device: more than one where plans leave things
// out to keep the limit and, by what is predicted, all jobs end sooner when one
// computes while another waits for its copies.
SharingPlan choose_sharing(const JobArrays& arrays, const JobDevices& devices,
                           const plan::Profile& profile,
                           compile::ProgramCache& programs);

// Seconds for all steps of all works on one device, so many at once.
double all_seconds(const std::vector<WorkPlan>& works, int at_once);

// When all works are done on so many equal devices, each of which takes the
// longest that is left, and when no order could have them done.
struct PredictedSpan {
  double seconds = 0, least_s = 0;
};
PredictedSpan predict_span(const std::vector<WorkPlan>& works, int devices,
                           int at_once);

// The bytes of a device that one of so many jobs may have, and the rest of what
// the job may use. `seat` is of those who compute there in turns.
runtime::Budget shared_budget(const Job& job, const JobDevices& devices,
                              int at_once);

}  // namespace braid::train
