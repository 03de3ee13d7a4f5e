// Values from nothing: ranges, constants, unit matrices.
#include "braid/runtime/kernels/aten/bind.h"

namespace braid::runtime {

void add_aten_factory(KernelTable&, at::Device) {}

}  // namespace braid::runtime
