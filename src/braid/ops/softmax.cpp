// Softmax and its relatives.
#include "braid/ops/families.h"
#include "braid/ops/functions.h"
#include "braid/ops/traits.h"

namespace braid {

void add_softmax_ops(OpTable&) {}

}  // namespace braid
