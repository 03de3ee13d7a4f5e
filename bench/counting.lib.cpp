// Braid's counting allocator for a Python process: load with ctypes, install,
// and libtorch's CPU bytes are counted there as they are in Braid.
#include "braid/runtime/kernels/aten/torch_bytes.h"

extern "C" {
void install() { braid::runtime::count_torch_cpu_bytes(); }
long long peak_bytes() { return braid::runtime::torch_cpu_peak_bytes(); }
long long used_bytes() { return braid::runtime::torch_cpu_bytes(); }
void reset_peak() { braid::runtime::reset_torch_cpu_peak(); }
}
