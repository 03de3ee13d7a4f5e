// Padding, windows and their inverse.
#include "braid/ops/families.h"
#include "braid/ops/functions.h"
#include "braid/ops/traits.h"

namespace braid {

void add_pad_ops(OpTable&) {}

}  // namespace braid
