// Elements by index: gathering, scattering, reading and writing.
#include "braid/ops/families.h"
#include "braid/ops/functions.h"
#include "braid/ops/traits.h"

namespace braid {

void add_index_ops(OpTable&) {}

}  // namespace braid
