// .npy files as NumPy writes them; data/npy_header.h reads them.
#pragma once

#include <string>

#include "braid/base/dtype.h"
#include "braid/base/shape.h"

namespace braid::io {

// What a file begins with; the elements follow, row-major. Throws
// std::invalid_argument for bf16, which NumPy does not have.
std::string npy_head(DType dtype, const Shape& shape);

}  // namespace braid::io
