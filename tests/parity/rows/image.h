// What follows convolutions in models: ops that meet values with members
// merged or leading, as the lowering left them.
#pragma once

#include "../row.h"

namespace braid::parity {

std::vector<Row> image_rows();

}  // namespace braid::parity
