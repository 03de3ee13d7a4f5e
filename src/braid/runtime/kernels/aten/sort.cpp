// Order: sorting, top entries, largest and smallest with their place.
#include "braid/runtime/kernels/aten/bind.h"

namespace braid::runtime {

void add_aten_sort(KernelTable&, at::Device) {}

}  // namespace braid::runtime
