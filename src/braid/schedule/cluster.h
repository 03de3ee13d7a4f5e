// A cluster on paper: jobs as wholes on groups of equal devices. Jobs begin
// where there is room, and give way to others at the ends of a quantum.
#pragma once

#include <string_view>

#include "braid/config/section.h"
#include "braid/schedule/outcome.h"
#include "braid/schedule/policy.h"

namespace braid::schedule {

struct DeviceGroup {
  std::string name = "device";
  int64_t count = 1;
  double speed = 1;
};
void describe(config::Section& s, DeviceGroup& group);

// Jobs that are drawn.
struct LoadConfig {
  int64_t jobs = 1000;
  int64_t seed = 0;
  double hours = 24;              // in which they arrive, evenly
  double median_s = 1200;         // of a job
  double sigma = 1.5;             // of the logarithm of that
  double share_of_several = 0.2;  // jobs that want 2, 4 or 8 devices
  double share_repeated = 0.5;    // of the others: of a sweep
};
void describe(config::Section& s, LoadConfig& load);

struct Cluster {
  std::vector<DeviceGroup> devices = {};
  double quantum_s = 60;
  double restart_s = 0;  // that a job loses when it gave way
  LoadConfig load = {};  // where there is no trace

  int64_t num_devices() const;
  int64_t most_at_once() const;  // of one group
  std::vector<Device> all_devices() const;
};
void describe(config::Section& s, Cluster& cluster);

// From YAML; throws std::invalid_argument with the file and the line for what
// is wrong.
Cluster parse_cluster(std::string_view text, const std::string& file);

// None wants more devices than `most`.
std::vector<Job> draw_jobs(const LoadConfig& load, int64_t most);

// Policies are asked when a job arrives or ends, for devices that are free,
// and at the end of each quantum for all; then a job also goes to faster ones
// where that pays. One whose devices are not free lets those behind it go
// first. The same for the same input. Throws
// std::invalid_argument for a job that wants more devices than any group has.
Outcome simulate_cluster(const std::vector<Job>& jobs, const Cluster& cluster,
                         const Policy& policy);

// What it would save to train repeated jobs on one device as one: those of a
// user whose names differ in numbers alone, `most` at a time, where each
// further one costs `further` of what it costs alone.
struct Fusing {
  int64_t num_repeated = 0;  // jobs
  double device_ns = 0;      // of all jobs
  double repeated_ns = 0;    // of these
  double saved_ns = 0;
};
Fusing fuse_repeated(const std::vector<Job>& jobs, int64_t most,
                     double further);

}  // namespace braid::schedule
