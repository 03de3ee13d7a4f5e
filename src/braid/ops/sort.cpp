// Order: sorting, top entries, largest and smallest with their place.
#include "braid/ops/families.h"
#include "braid/ops/functions.h"
#include "braid/ops/traits.h"

namespace braid {

void add_sort_ops(OpTable&) {}

}  // namespace braid
