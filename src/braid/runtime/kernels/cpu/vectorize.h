// Loops that the compiler turns into vector code, for the widest registers of
// the machine they run on.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

// Compiles a function once per instruction set; the loader picks one.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define BRAID_VECTORIZE \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define BRAID_VECTORIZE
#endif

// Inlined into each of those versions.
#define BRAID_INLINE [[gnu::always_inline]] inline

// Before a loop whose iteration i touches element i alone: operands that lie in
// one place (work in place) do not keep it from becoming vector code.
#define BRAID_ELEMENTWISE _Pragma("GCC ivdep")

namespace braid::runtime {

BRAID_INLINE double vector_exp(double x) { return std::exp(x); }

// e^x to about 1 ulp without branches: x = n ln 2 + r, e^r by a polynomial.
BRAID_INLINE float vector_exp(float x) {
  x = x < -87.3f ? -87.3f : x;
  x = x > 88.3f ? 88.3f : x;
  float n = x * 1.44269504f;
  n = (n + 12582912.0f) - 12582912.0f;  // rounds to the nearest integer
  float r = x - n * 0.693359375f;
  r = r + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  int32_t bits = (static_cast<int32_t>(n) + 127) << 23;
  float scale;
  std::memcpy(&scale, &bits, sizeof scale);
  return p * scale;
}

}  // namespace braid::runtime
