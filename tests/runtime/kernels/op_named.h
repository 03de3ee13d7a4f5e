// Ops by name, for nodes that belong to no graph.
#pragma once

#include <string_view>

#include "op_table.h"

namespace braid {

inline const Op* op_named(std::string_view name) { return &table().at(name); }

}  // namespace braid
