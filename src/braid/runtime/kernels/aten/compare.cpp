// Comparisons, logic, bits, and choices between values.
#include "braid/runtime/kernels/aten/bind.h"

namespace braid::runtime {

void add_aten_compare(KernelTable&, at::Device) {}

}  // namespace braid::runtime
