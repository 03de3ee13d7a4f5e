// Recurrent layers.
#include "braid/runtime/kernels/aten/bind.h"

namespace braid::runtime {

void add_aten_rnn(KernelTable&, at::Device) {}

}  // namespace braid::runtime
