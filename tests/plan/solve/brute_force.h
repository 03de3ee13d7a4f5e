// The fastest plan and the least peak by looking at all plans.
#pragma once

#include "braid/plan/solve/evaluator.h"

namespace braid::plan {

struct BruteForce {
  bool feasible = false;
  int64_t time = 0;
  int64_t least_peak = -1;  // of plans that keep the host's limit
};

inline BruteForce brute_force(const Instance& instance) {
  BruteForce found;
  int n = instance.num_segments();
  for (int depth : instance.depths) {
    Evaluator plan(instance, depth);
    for (bool more = true; more;) {
      if (plan.host() <= instance.host_bytes) {
        int64_t peak = plan.peak();
        if (found.least_peak < 0 || peak < found.least_peak) {
          found.least_peak = peak;
        }
        if (peak <= instance.device_bytes) {
          int64_t time = plan.time();
          if (!found.feasible || time < found.time) found.time = time;
          found.feasible = true;
        }
      }
      // The next plan, as digits count on.
      int i = n - 1;
      for (; i >= 0; --i) {
        auto rows = instance.segments[size_t(i)].modes.size();
        auto next = static_cast<size_t>(plan.mode(i)) + 1;
        plan.set(i, next < rows ? static_cast<int32_t>(next) : 0);
        if (next < rows) break;
      }
      more = i >= 0;
      if (i < n - 1) plan.keep();
    }
  }
  return found;
}

}  // namespace braid::plan
