// Functions that are right for every number, NaN and infinities included,
// without branches or calls: loops over them become vector code. f32 is good
// to 3 units in the last place, f64 to 4; see vector_math.h for faster ones.
#pragma once

#include "braid/runtime/kernels/loops/level/level.h"

namespace braid::runtime::BRAID_LEVEL {

// 2^n for n that was rounded by adding `magic`, whose last bits count.
template <class T, class Bits>
BRAID_INLINE T power_of_two(T rounded, T magic, Bits bias, int digits) {
  Bits bits, none;
  std::memcpy(&bits, &rounded, sizeof bits);
  std::memcpy(&none, &magic, sizeof none);
  bits = (bits - none + bias) << digits;
  T power;
  std::memcpy(&power, &bits, sizeof power);
  return power;
}

// p * 2^n in two steps, as 2^n alone may be no normal number. Bits are without
// a sign: those of NaN run over.
BRAID_INLINE float scaled(float p, float n) {
  const float magic = 12582912.0f;  // 1.5 * 2^23
  float half = n * 0.5f + magic;
  float rest = (n - (half - magic)) + magic;
  return p * power_of_two<float, uint32_t>(half, magic, 127, 23) *
         power_of_two<float, uint32_t>(rest, magic, 127, 23);
}

BRAID_INLINE double scaled(double p, double n) {
  const double magic = 6755399441055744.0;  // 1.5 * 2^52
  double half = n * 0.5 + magic;
  double rest = (n - (half - magic)) + magic;
  return p * power_of_two<double, uint64_t>(half, magic, 1023, 52) *
         power_of_two<double, uint64_t>(rest, magic, 1023, 52);
}

// x = n ln 2 + r, e^r by a polynomial. Beyond the limits all is 0 or infinite.
BRAID_INLINE float whole_exp(float x) {
  x = x < -105.0f ? -105.0f : x;
  x = x > 89.0f ? 89.0f : x;
  float n = (x * 1.44269504f + 12582912.0f) - 12582912.0f;
  float r = x - n * 0.693359375f;
  r = r + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  return scaled(p, n);
}

BRAID_INLINE double whole_exp(double x) {
  x = x < -746.0 ? -746.0 : x;
  x = x > 710.0 ? 710.0 : x;
  double n = (x * 1.4426950408889634 + 6755399441055744.0) - 6755399441055744.0;
  double r = x - n * 6.93147180369123816490e-01;
  r = r - n * 1.90821492927058770002e-10;
  double p = 1.0 / 6227020800.0;
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = p * r * r + r + 1.0;
  return scaled(p, n);
}

// tanh of 0 <= x < 0.625.
BRAID_INLINE float small_tanh(float x) {
  float z = x * x;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  return p * z * x + x;
}

BRAID_INLINE double small_tanh(double x) {
  double z = x * x;
  double p = -9.64399179425052238628e-1;
  p = p * z - 9.92877231001918586564e1;
  p = p * z - 1.61468768441708447952e3;
  double q = z + 1.12811678491632931402e2;
  q = q * z + 2.23548839060100448583e3;
  q = q * z + 4.84406305325125486048e3;
  return p / q * z * x + x;
}

BRAID_INLINE float magnitude(float x) { return __builtin_fabsf(x); }
BRAID_INLINE double magnitude(double x) { return __builtin_fabs(x); }
BRAID_INLINE float with_sign(float x, float sign) {
  return __builtin_copysignf(x, sign);
}
BRAID_INLINE double with_sign(double x, double sign) {
  return __builtin_copysign(x, sign);
}

template <class T>
BRAID_INLINE T whole_tanh(T x) {
  T a = magnitude(x);
  T large = T(1) - T(2) / (whole_exp(a + a) + T(1));
  return with_sign(a < T(0.625) ? small_tanh(a) : large, x);
}

template <class T>
BRAID_INLINE T whole_sigmoid(T x) {
  return T(1) / (T(1) + whole_exp(-x));
}

}  // namespace braid::runtime::BRAID_LEVEL
