// Softmax and its relatives.
#include "braid/runtime/kernels/aten/bind.h"

namespace braid::runtime {

void add_aten_softmax(KernelTable&, at::Device) {}

}  // namespace braid::runtime
