// Elements by index: gathering, scattering, reading and writing.
#include "braid/runtime/kernels/aten/bind.h"

namespace braid::runtime {

void add_aten_index(KernelTable&, at::Device) {}

}  // namespace braid::runtime
