// Type promotion as in PyTorch: the wider category wins (bool, integer,
// float); within one category a scalar (rank 0) does not widen a tensor.
#pragma once

#include "braid/base/dtype.h"

namespace braid {

// The type that holds both.
DType promote(DType a, DType b);

// The type of an op on two operands; `scalar` marks those of rank 0.
DType promote(DType a, bool a_is_scalar, DType b, bool b_is_scalar);

}  // namespace braid
