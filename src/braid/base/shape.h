// Shapes and strides: plain lists of element counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace braid {

using Shape = std::vector<int64_t>;
using Strides = std::vector<int64_t>;

// Number of elements; throws when a size is negative or the product overflows.
int64_t num_elements(const Shape& shape);

// Row-major strides; sizes of 0 count as 1, as in PyTorch.
Strides contiguous_strides(const Shape& shape);

// Whether the elements lie row-major without gaps (sizes of 1 are ignored).
bool is_contiguous(const Shape& shape, const Strides& strides);

// Whether the elements lie side by side in some order of the dimensions.
bool is_dense(const Shape& shape, const Strides& strides);

// Elements between the first and one past the last that a view touches.
int64_t span_elements(const Shape& shape, const Strides& strides);

// Maps dim in [-rank, rank) to [0, rank); `where` begins the error message.
int64_t normalize_dim(int64_t dim, int64_t rank, const char* where);

// NumPy-style broadcast of two shapes; throws when they do not fit.
Shape broadcast_shapes(const Shape& a, const Shape& b, const char* where);

// "[4, 3]"
std::string shape_text(const Shape& shape);

// Strides of `target` over memory of (shape, strides), if there are any: each
// run of target sizes must cover a run of source sizes without gaps.
std::optional<Strides> view_strides(const Shape& shape, const Strides& strides,
                                    const Shape& target);

}  // namespace braid
