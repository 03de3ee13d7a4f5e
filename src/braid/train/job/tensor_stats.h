// TensorStats: what the numbers of a tensor look like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "braid/base/dtype.h"

namespace braid::train {

// Of numbers that are not finite only how many there are; the rest is of the
// others, and NaN where there are none.
struct TensorStats {
  int64_t count = 0, non_finite = 0;
  double mean = 0;
  double deviation = 0;  // the root of the mean squared distance from the mean
  double least = 0, most = 0;
  double zeros = 0;  // the share of all
};

// Row-major elements of any type but a complex one.
TensorStats tensor_stats(std::span<const std::byte> bytes, DType dtype);

}  // namespace braid::train
