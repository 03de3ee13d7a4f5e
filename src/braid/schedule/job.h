// Jobs as schedulers see them: chains of units that take time on a device and
// on the links to it. Times are whole nanoseconds, so that an answer does not
// depend on the order in which they are added up.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace braid::schedule {

inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// A part of a step that a device runs without a break: the forward or the
// backward part of a segment, or an update.
struct Unit {
  int64_t compute_ns = 0;  // on a device of speed 1
  int64_t in_ns = 0;       // of copies that must be there before it,
  int64_t out_ns = 0;      // and of those of what it leaves
};

struct Job {
  std::string name = {};
  std::string user = {};
  std::vector<Unit> units = {};  // of one step
  int64_t num_steps = 1;
  int64_t steps_per_epoch = 0;  // 0: all steps are one epoch
  int64_t arrival_ns = 0;
  int64_t deadline_ns = kNever;
  double priority = 0;      // the larger, the sooner
  int64_t num_devices = 1;  // all at once

  int64_t num_units() const;  // of all steps
  int64_t step_ns() const;    // of computing, at speed 1
  int64_t work_ns() const;    // the same of all steps
  int64_t copies_ns() const;  // of all steps, on the busier link
};

struct Device {
  std::string name = {};
  double speed = 1;  // units take so much less time
};

// The time of work on a device of that speed, rounded up.
int64_t ns_at(double speed, int64_t work_ns);

// No schedule ends sooner: neither than all work shared out evenly, from any
// arrival on, nor than any job alone on the fastest device that it can have.
int64_t least_makespan_ns(const std::vector<Job>& jobs,
                          const std::vector<Device>& devices);

// Throws std::invalid_argument for jobs and devices that make no sense: no
// units, times below 0, a speed of 0, or work of more than 36 years.
void check_jobs(const std::vector<Job>& jobs,
                const std::vector<Device>& devices);

}  // namespace braid::schedule
