// The page of the documentation that lists all models, from the table.
#pragma once

#include <string>

#include "braid/ops/core/op.h"

namespace braid::models {

// Markdown, as docs/models.md.
std::string models_page(const OpTable& ops);

}  // namespace braid::models
