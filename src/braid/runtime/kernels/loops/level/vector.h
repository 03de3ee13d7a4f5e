// Vectors of a given number of lanes, as compilers for C++ know them.
#pragma once

#include "braid/runtime/kernels/loops/level/level.h"

namespace braid::runtime::BRAID_LEVEL {

template <class T, int kLanes>
struct VectorOf {
  using type [[gnu::vector_size(kLanes * sizeof(T))]] = T;
};

template <class T, int kLanes>
using Vector = typename VectorOf<T, kLanes>::type;

}  // namespace braid::runtime::BRAID_LEVEL
