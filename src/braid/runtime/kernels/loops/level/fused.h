// sum + left * right, rounded once where the instruction set can. Said
// outright: compilers that fuse as they like give one element other bits in
// one tile than in another.
#pragma once

#include "braid/runtime/kernels/loops/level/vector.h"

#ifdef __FMA__
#include <immintrin.h>
#endif

namespace braid::runtime::BRAID_LEVEL {

#ifdef __FMA__
BRAID_INLINE float fused_one(float sum, float left, float right) {
  return __builtin_fmaf(left, right, sum);
}
BRAID_INLINE double fused_one(double sum, double left, double right) {
  return __builtin_fma(left, right, sum);
}

// Vectors narrower than a register go lane by lane.
template <class T, int kLanes>
BRAID_INLINE Vector<T, kLanes> fused(Vector<T, kLanes> sum, T left,
                                     Vector<T, kLanes> right) {
  constexpr bool kFloat = sizeof(T) == sizeof(float);
  constexpr int kBytes = kLanes * static_cast<int>(sizeof(T));
  if constexpr (kBytes == 16 && kFloat) {
    return (Vector<T, kLanes>)_mm_fmadd_ps(_mm_set1_ps(left), (__m128)right,
                                           (__m128)sum);
  } else if constexpr (kBytes == 16) {
    return (Vector<T, kLanes>)_mm_fmadd_pd(_mm_set1_pd(left), (__m128d)right,
                                           (__m128d)sum);
  } else if constexpr (kBytes == 32 && kFloat) {
    return (Vector<T, kLanes>)_mm256_fmadd_ps(_mm256_set1_ps(left),
                                              (__m256)right, (__m256)sum);
  } else if constexpr (kBytes == 32) {
    return (Vector<T, kLanes>)_mm256_fmadd_pd(_mm256_set1_pd(left),
                                              (__m256d)right, (__m256d)sum);
#ifdef __AVX512F__
  } else if constexpr (kBytes == 64 && kFloat) {
    return (Vector<T, kLanes>)_mm512_fmadd_ps(_mm512_set1_ps(left),
                                              (__m512)right, (__m512)sum);
  } else if constexpr (kBytes == 64) {
    return (Vector<T, kLanes>)_mm512_fmadd_pd(_mm512_set1_pd(left),
                                              (__m512d)right, (__m512d)sum);
#endif
  } else {
    for (int i = 0; i < kLanes; ++i) sum[i] = fused_one(sum[i], left, right[i]);
    return sum;
  }
}
#else
template <class T, int kLanes>
BRAID_INLINE Vector<T, kLanes> fused(Vector<T, kLanes> sum, T left,
                                     Vector<T, kLanes> right) {
  return sum + left * right;
}
#endif

}  // namespace braid::runtime::BRAID_LEVEL
