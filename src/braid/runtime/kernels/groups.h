// Where groups of rows begin and end, read from offsets in host memory.
#pragma once

#include "braid/runtime/tensor.h"

namespace braid::runtime {

// Rows [begin, end).
struct GroupRange {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

// Throws unless the ends of each member rise from 0 to at most `rows`.
// offsets[E] or [B, E] are i32 or i64, of any strides.
void check_offsets(const Tensor& offsets, int64_t rows);

GroupRange group_range(const Tensor& offsets, int64_t member, int64_t group);

}  // namespace braid::runtime
