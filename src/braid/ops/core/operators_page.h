// The page of the documentation that lists all operators, from the table.
#pragma once

#include <string>

#include "braid/ops/core/op.h"

namespace braid {

// Markdown, as docs/operators.md.
std::string operators_page(const OpTable& ops);

}  // namespace braid
