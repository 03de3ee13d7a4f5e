// Scratch on CUDA: while a kernel runs, libtorch's device allocations on this
// thread are served from the call's planned workspace. So what a program takes
// is what was planned, and a recorded graph finds its scratch at the same
// addresses again.
//
// For this Braid's allocator stands in front of libtorch's, in use or not.
// What is asked for outside of a kernel it hands on: that memory is the other
// allocator's own, whoever frees it and whenever.
#pragma once

#include <functional>
#include <string>

#include "braid/runtime/kernels/kernel.h"

namespace braid::runtime {

// Keeps Braid's allocator in place: the first puts it in front of the one
// that libtorch has then, the last takes it away again. Thread-safe.
class CudaScratchUse {
 public:
  CudaScratchUse();
  ~CudaScratchUse();
  CudaScratchUse(const CudaScratchUse&) = delete;
  CudaScratchUse& operator=(const CudaScratchUse&) = delete;
};

// The rest needs a CudaScratchUse.

// Bytes that this thread takes from libtorch while `body` runs.
int64_t torch_cuda_bytes(const std::function<void()>& body);

// Runs `kernel` with its scratch in `workspace`; one that takes more than was
// planned is an error. `op` names the culprit.
void run_in_scratch(Workspace& workspace, const Thunk& kernel,
                    const std::string& op);

// Bytes of scratch that `kernel` takes, found by running it on memory that is
// the device's again afterwards. Blocking.
int64_t measure_scratch(const Thunk& kernel, const std::string& op);

// Inside of a kernel whose parts run at the same time: each has a part of the
// scratch of its own. A trial runs one part and tells how many there will be.
bool is_trial_call();
void run_in_part(int64_t part, int64_t parts, const Thunk& run);
void count_parts(int64_t parts);

}  // namespace braid::runtime
