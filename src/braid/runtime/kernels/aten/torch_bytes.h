// Counts the bytes that libtorch takes from the system on the CPU. For tests
// and benchmarks: Braid itself changes nothing of that.
#pragma once

#include <cstdint>

namespace braid::runtime {

// Counts from here on, all allocations of the process, beside what lies in a
// workspace. Must be called while nothing of Braid is prepared. Further calls
// do nothing.
void count_torch_cpu_bytes();

// Bytes now, and at most since the last reset.
int64_t torch_cpu_bytes();
int64_t torch_cpu_peak_bytes();
void reset_torch_cpu_peak();

}  // namespace braid::runtime
