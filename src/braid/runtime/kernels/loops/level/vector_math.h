// Functions of one number without branches or calls, so that loops over them
// become vector code. float is good to about 1 ulp; double is libm's.
#pragma once

#include "braid/runtime/kernels/loops/level/level.h"

namespace braid::runtime::BRAID_LEVEL {

BRAID_INLINE double vector_exp(double x) { return std::exp(x); }
BRAID_INLINE double vector_log(double x) { return std::log(x); }

// x = n ln 2 + r, e^r by a polynomial.
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

// x = m 2^e with m in [sqrt(1/2), sqrt(2)), ln m by a polynomial. For normal
// x, infinity and NaN, which is what a sum of exponentials can be.
BRAID_INLINE float vector_log(float x) {
  int32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  int32_t e = (bits - 0x3f3504f3) >> 23;
  bits -= e * 0x800000;
  float m;
  std::memcpy(&m, &bits, sizeof m);
  float f = m - 1.0f, z = f * f, n = static_cast<float>(e);
  float p = 7.0376836292e-2f;
  p = p * f - 1.1514610310e-1f;
  p = p * f + 1.1676998740e-1f;
  p = p * f - 1.2420140846e-1f;
  p = p * f + 1.4249322787e-1f;
  p = p * f - 1.6668057665e-1f;
  p = p * f + 2.0000714765e-1f;
  p = p * f - 2.4999993993e-1f;
  p = p * f + 3.3333331174e-1f;
  float y = f * z * p + n * -2.12194440e-4f - 0.5f * z;
  float log = f + y + n * 0.693359375f;
  return x < 3.4028235e38f ? log : x;
}

}  // namespace braid::runtime::BRAID_LEVEL
