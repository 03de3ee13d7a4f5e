// Rearrangements that copy: flips, rolls, triangles, repeats.
#include "braid/runtime/kernels/aten/bind.h"

namespace braid::runtime {

void add_aten_arrange(KernelTable&, at::Device) {}

}  // namespace braid::runtime
