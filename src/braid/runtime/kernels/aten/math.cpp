// Elementary functions, powers, clamping, interpolation.
#include "braid/runtime/kernels/aten/bind.h"

namespace braid::runtime {

void add_aten_math(KernelTable&, at::Device) {}

}  // namespace braid::runtime
