// Outcome: how a simulated schedule went.
#pragma once

#include "braid/schedule/job.h"

namespace braid::schedule {

struct JobTimes {
  int64_t begin_ns = kNever;  // of its first unit
  int64_t end_ns = 0;         // when its last results are there
};

// That each part was busy; of groups more than whole numbers hold.
struct DeviceTimes {
  double compute_ns = 0, in_ns = 0, out_ns = 0;
};

// What a device computed without a break.
struct Span {
  int32_t device = 0;
  int32_t job = 0;
  int64_t unit = 0;  // counted through all steps
  int64_t begin_ns = 0, end_ns = 0;
};

struct Outcome {
  std::vector<JobTimes> jobs = {};
  std::vector<DeviceTimes> devices = {};  // or groups of equal ones
  std::vector<Span> spans = {};           // where they were asked for
  int64_t first_ns = 0;                   // the first arrival
  int64_t end_ns = 0;
  int64_t num_units = 0;      // or times that a job was put on devices
  int64_t num_preempted = 0;  // times that a job gave way before its end

  int64_t makespan_ns() const { return end_ns - first_ns; }
};

// Of completion times, from arrival to end, or of waits, from arrival to begin.
struct Spread {
  double mean_ns = 0;
  int64_t p50_ns = 0, p95_ns = 0, p99_ns = 0, most_ns = 0;
};
Spread spread_of(std::vector<int64_t> times);
Spread completion(const std::vector<Job>& jobs, const Outcome& outcome);
Spread queueing(const std::vector<Job>& jobs, const Outcome& outcome);

// Jobs that ended after their deadlines.
int64_t num_late(const std::vector<Job>& jobs, const Outcome& outcome);

}  // namespace braid::schedule
