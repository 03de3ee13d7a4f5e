// Recurrent layers.
#include "braid/ops/families.h"
#include "braid/ops/functions.h"
#include "braid/ops/traits.h"

namespace braid {

void add_rnn_ops(OpTable&) {}

}  // namespace braid
