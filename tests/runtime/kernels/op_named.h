// Ops by name, for nodes that belong to no graph.
#pragma once

#include <string_view>

#include "braid/ops/core/op.h"

namespace braid {

inline const Op* op_named(std::string_view name) {
  static const OpTable ops = standard_ops();
  return &ops.at(name);
}

}  // namespace braid
