// Jobs that tests are about.
#pragma once

#include "braid/base/rng.h"
#include "braid/schedule/unit_simulator.h"

namespace braid::schedule {

inline Job chain(std::vector<Unit> units, int64_t num_steps = 1) {
  Job job;
  job.units = std::move(units);
  job.num_steps = num_steps;
  return job;
}

// Of equal units that only compute.
inline Job work(int64_t num_units, int64_t ns = 10) {
  return chain({{.compute_ns = ns}}, num_units);
}

inline std::vector<Device> devices(size_t count) {
  return std::vector<Device>(count, Device{"device", 1});
}

inline Outcome simulated(const std::vector<Job>& jobs, size_t num_devices,
                         const char* policy, UnitOptions options = {}) {
  return simulate_units(jobs, devices(num_devices), *make_policy(policy, 1),
                        options);
}

// As Hydra's experiments: 3 to 16 shards, forward and backward, 10 to 80
// minibatches.
inline std::vector<Job> grid(size_t count, bool equal, uint64_t seed) {
  std::vector<Job> jobs;
  for (size_t i = 0; i < count; ++i) {
    uint64_t key = mix_bits(seed, equal ? 0 : i);
    auto below = [&](uint64_t at, uint64_t most) {
      return static_cast<int64_t>(mix_bits(key, at) % most);
    };
    int64_t shards = 3 + below(0, 14), batches = 10 + below(1, 71);
    std::vector<Unit> units;
    for (int64_t s = 0; s < 2 * shards; ++s) {
      int64_t ns = 50 + below(static_cast<uint64_t>(2 + s % shards), 100);
      units.push_back({.compute_ns = s < shards ? ns : 3 * ns});
    }
    jobs.push_back(chain(std::move(units), batches));
  }
  return jobs;
}

}  // namespace braid::schedule
