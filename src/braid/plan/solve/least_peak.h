// LeastPeak: the plan that needs the least memory of the device, within the
// limit of the host. Times do not count, and the peak grows with the depth, so
// this is a question of the least depth alone.
#pragma once

#include <cstdint>
#include <vector>

#include "braid/plan/solve/rows.h"

namespace braid::plan {

struct LeastPeak {
  // False: every plan needs more memory of the host than there may be.
  bool is_found = false;
  int depth = 0;
  std::vector<int32_t> modes = {};
  int64_t peak_bytes = 0;
  int64_t bound_bytes = 0;  // no plan needs less
  bool is_proved() const { return bound_bytes == peak_bytes; }
};

// The least bytes of host memory that some plan needs.
int64_t least_host_bytes(const Instance& instance);

// `steps` of the bound, and as many changes looked at for each segment.
LeastPeak find_least_peak(const Instance& instance, const Rows& rows,
                          int64_t steps);

}  // namespace braid::plan
