// Contents of what a random graph begins with.
#pragma once

#include "random_graph.h"

namespace braid::parity {

at::ScalarType float_type(DType dtype);
ValueType type_of(const at::Tensor& tensor);

// One given for one member; a nudge moves floats by 8 ulp.
at::Tensor given_tensor(const Given& given, int64_t member, uint64_t nudge);

}  // namespace braid::parity
