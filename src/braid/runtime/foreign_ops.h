// What libtorch knows about its operators, for nodes `torch_op`.
#pragma once

#include <memory>

#include "braid/ops/core/foreign.h"

namespace braid::runtime {

std::unique_ptr<ForeignOps> torch_foreign_ops();

}  // namespace braid::runtime
