// Scratch: while a kernel runs, libtorch's CPU allocations on this thread are
// served from the call's planned workspace, and an allocation of the size of
// a planned output lands in that output, so that results need no copy.
#pragma once

#include <vector>

#include "braid/runtime/kernels/kernel.h"

namespace braid::runtime {

// Makes libtorch's CPU allocator the scratch-aware, counting one. Once per
// process; further calls do nothing.
void install_scratch_allocator();

// Bytes that libtorch took from the system on the CPU, outside any workspace:
// now, and at most since the last reset.
int64_t torch_cpu_bytes();
int64_t torch_cpu_peak_bytes();
void reset_torch_cpu_peak();

// Serves this thread's allocations from `workspace` until destroyed.
class ScratchScope {
 public:
  ScratchScope(Workspace& workspace, const std::vector<Tensor>& landings);
  ~ScratchScope();
  ScratchScope(const ScratchScope&) = delete;
  ScratchScope& operator=(const ScratchScope&) = delete;
};

}  // namespace braid::runtime
