// Kernels that are made from text while the program runs, by NVIDIA's runtime
// compiler (NVRTC), which comes with libtorch's CUDA libraries.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

namespace braid::runtime::cuda {

// Whether there is a compiler.
bool can_generate();

// The kernel `name` of the text, for a device. What was compiled once is kept
// until the process ends. Thread-safe.
cudaKernel_t generated_kernel(int device, const std::string& text,
                              const char* name);

}  // namespace braid::runtime::cuda
