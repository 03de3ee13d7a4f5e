// Activations of torch.nn beyond relu and gelu.
#include "braid/runtime/kernels/aten/bind.h"

namespace braid::runtime {

void add_aten_activation(KernelTable&, at::Device) {}

}  // namespace braid::runtime
