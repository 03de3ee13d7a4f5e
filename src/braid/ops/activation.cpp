// Activations of torch.nn beyond relu and gelu.
#include "braid/ops/families.h"
#include "braid/ops/functions.h"
#include "braid/ops/traits.h"

namespace braid {

void add_activation_ops(OpTable&) {}

}  // namespace braid
