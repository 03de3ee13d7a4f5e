// In which type ops compute when a step is narrow; the table keeps it as
// Op::precision.
#pragma once

#include <span>
#include <string_view>

#include "braid/graph/op.h"

namespace braid {

struct PrecisionRow {
  std::string_view op;
  Precision precision;
};

// Ops that do not simply follow their operands.
std::span<const PrecisionRow> precision_rows();

Precision precision_of(std::string_view op);

}  // namespace braid
