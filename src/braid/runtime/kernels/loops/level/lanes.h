// Sums and maxima of a row in lanes, which become vector code.
#pragma once

#include "braid/runtime/kernels/loops/level/level.h"

namespace braid::runtime::BRAID_LEVEL {

constexpr int64_t kRowLanes = 16;

// The lanes are added in a fixed order.
template <class T, class F>
BRAID_INLINE T lane_sum(int64_t count, F&& term) {
  T sums[kRowLanes] = {};
  int64_t whole = count / kRowLanes * kRowLanes;
  for (int64_t i = 0; i < whole; i += kRowLanes) {
    for (int64_t l = 0; l < kRowLanes; ++l) sums[l] += term(i + l);
  }
  T sum = 0;
  for (T s : sums) sum += s;
  for (int64_t i = whole; i < count; ++i) sum += term(i);
  return sum;
}

// The greatest of `lowest` and all terms but NaN.
template <class T, class F>
BRAID_INLINE T lane_max(int64_t count, T lowest, F&& term) {
  T most[kRowLanes];
  for (T& m : most) m = lowest;
  int64_t whole = count / kRowLanes * kRowLanes;
  for (int64_t i = 0; i < whole; i += kRowLanes) {
    for (int64_t l = 0; l < kRowLanes; ++l) {
      T v = term(i + l);
      most[l] = v > most[l] ? v : most[l];
    }
  }
  T greatest = lowest;
  for (T m : most) greatest = m > greatest ? m : greatest;
  for (int64_t i = whole; i < count; ++i) {
    greatest = term(i) > greatest ? term(i) : greatest;
  }
  return greatest;
}

}  // namespace braid::runtime::BRAID_LEVEL
