// The operators, made once for all tests of a program.
#pragma once

#include "braid/ops/core/op.h"

namespace braid {

inline const OpTable& table() {
  static const OpTable ops = standard_ops();
  return ops;
}

}  // namespace braid
