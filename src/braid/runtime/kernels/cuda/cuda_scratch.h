// Scratch on CUDA: while a kernel runs, libtorch's device allocations on this
// thread are served from the call's planned workspace. So what a program takes
// is what was planned, and a recorded graph finds its scratch at the same
// addresses again.
//
// Outside a kernel allocations go to libtorch's own caching allocator.
#pragma once

#include <string>

#include "braid/runtime/kernels/kernel.h"

namespace braid::runtime {

// Puts the workspaces in front of libtorch's CUDA allocator. Once per process;
// further calls do nothing. Throws when that allocator is in use already.
void install_cuda_scratch();

// Bytes that libtorch holds on CUDA devices outside any workspace.
int64_t torch_cuda_bytes();

// Gives what libtorch caches back to the device. Blocking.
void empty_torch_cuda_cache();

// Runs `kernel` with its scratch in `workspace`; one that takes more than was
// planned is an error. `op` names the culprit.
void run_in_scratch(Workspace& workspace, const Run& kernel,
                    const std::string& op);

// Bytes of scratch that `kernel` takes, found by running it on libtorch's own
// memory.
int64_t measure_scratch(const Run& kernel, const std::string& op);

}  // namespace braid::runtime
