// Sums and maxima of a row in lanes, which become vector code.
#pragma once

#include "braid/runtime/kernels/loops/level/vector.h"

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

template <class T, int kLanes>
BRAID_INLINE T greatest_of(Vector<T, kLanes> v) {
  if constexpr (kLanes == 1) {
    return v[0];
  } else {
    Vector<T, kLanes / 2> halves[2];
    std::memcpy(halves, &v, sizeof v);
    return greatest_of<T, kLanes / 2>(halves[1] > halves[0] ? halves[1]
                                                            : halves[0]);
  }
}

// The greatest of `lowest` and all x[n] but NaN. In vectors outright: compilers
// make jumps of lanes that are compared. Which zero it is, levels may differ
// in.
template <class T>
BRAID_INLINE T row_greatest(const T* x, int64_t count, T lowest) {
  constexpr int kLanes = kVectorBytes / sizeof(T);
  Vector<T, kLanes> most = Vector<T, kLanes>{} + lowest;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Vector<T, kLanes> v;
    std::memcpy(&v, x + i, sizeof v);
    most = v > most ? v : most;
  }
  T greatest = greatest_of<T, kLanes>(most);
  for (; i < count; ++i) greatest = x[i] > greatest ? x[i] : greatest;
  return greatest;
}

}  // namespace braid::runtime::BRAID_LEVEL
