// Functions that are right for every number, NaN and infinities included,
// without branches or calls: loops over them become vector code. f32 is good
// to 3 units in the last place, f64 to 4. Levels differ in the last bits.
#pragma once

#include "braid/runtime/kernels/loops/level/level.h"

namespace braid::runtime::BRAID_LEVEL {

// a * b + c, rounded once where the instruction set can.
BRAID_INLINE float fused_sum(float a, float b, float c) {
#ifdef __FMA__
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

BRAID_INLINE double fused_sum(double a, double b, double c) {
#ifdef __FMA__
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}

// Added to a number and taken away again, it leaves the nearest integer.
constexpr float kRounding32 = 12582912.0f;          // 1.5 * 2^23
constexpr double kRounding64 = 6755399441055744.0;  // 1.5 * 2^52

// 2^n for the integer n that `rounded` has beyond the number for rounding: 0
// and infinity next to the normal numbers. Bits are without a sign, as those of
// NaN run over.
BRAID_INLINE float power_of_two(float rounded) {
  uint32_t bits;
  std::memcpy(&bits, &rounded, sizeof bits);
  bits = (bits - 0x4b400000u + 127) << 23;
  float power;
  std::memcpy(&power, &bits, sizeof power);
  return power;
}

BRAID_INLINE double power_of_two(double rounded) {
  uint64_t bits;
  std::memcpy(&bits, &rounded, sizeof bits);
  bits = (bits - 0x4338000000000000u + 1023) << 52;
  double power;
  std::memcpy(&power, &bits, sizeof power);
  return power;
}

// x = n ln 2 + r with n as an integer and beyond the number for rounding.
template <class T>
struct Split {
  T rounded, n, r;
};

BRAID_INLINE Split<float> split(float x) {
  float rounded = fused_sum(x, 1.44269504f, kRounding32);
  float n = rounded - kRounding32;
  float r = fused_sum(n, -0.693359375f, x);
  return {rounded, n, fused_sum(n, 2.12194440e-4f, r)};
}

BRAID_INLINE Split<double> split(double x) {
  double rounded = fused_sum(x, 1.4426950408889634, kRounding64);
  double n = rounded - kRounding64;
  double r = fused_sum(n, -6.93147180369123816490e-01, x);
  return {rounded, n, fused_sum(n, -1.90821492927058770002e-10, r)};
}

// e^r for |r| <= ln 2 / 2.
BRAID_INLINE float small_exp(float r) {
  float p = 1.9875691500e-4f;
  p = fused_sum(p, r, 1.3981999507e-3f);
  p = fused_sum(p, r, 8.3334519073e-3f);
  p = fused_sum(p, r, 4.1665795894e-2f);
  p = fused_sum(p, r, 1.6666665459e-1f);
  p = fused_sum(p, r, 5.0000001201e-1f);
  return fused_sum(p * r, r, r) + 1.0f;
}

BRAID_INLINE double small_exp(double r) {
  double p = 1.0 / 6227020800.0;
  p = fused_sum(p, r, 1.0 / 479001600.0);
  p = fused_sum(p, r, 1.0 / 39916800.0);
  p = fused_sum(p, r, 1.0 / 3628800.0);
  p = fused_sum(p, r, 1.0 / 362880.0);
  p = fused_sum(p, r, 1.0 / 40320.0);
  p = fused_sum(p, r, 1.0 / 5040.0);
  p = fused_sum(p, r, 1.0 / 720.0);
  p = fused_sum(p, r, 1.0 / 120.0);
  p = fused_sum(p, r, 1.0 / 24.0);
  p = fused_sum(p, r, 1.0 / 6.0);
  p = fused_sum(p, r, 0.5);
  return fused_sum(p * r, r, r) + 1.0;
}

template <class T>
BRAID_INLINE T held(T x, T least, T most) {
  x = x < least ? least : x;
  return x > most ? most : x;
}

// e^x, but 0 and infinity where it is nearly so: for 1 + e^x.
BRAID_INLINE float rough_exp(float x) {
  Split<float> s = split(held(x, -88.0f, 89.0f));
  return small_exp(s.r) * power_of_two(s.rounded);
}

BRAID_INLINE double rough_exp(double x) {
  Split<double> s = split(held(x, -709.0, 710.0));
  return small_exp(s.r) * power_of_two(s.rounded);
}

// e^x. 2^n is made in two steps, as it may be no normal number.
BRAID_INLINE float whole_exp(float x) {
  Split<float> s = split(held(x, -105.0f, 89.0f));
  float half = fused_sum(s.n, 0.5f, kRounding32);
  float rest = s.n - (half - kRounding32) + kRounding32;
  return small_exp(s.r) * power_of_two(half) * power_of_two(rest);
}

BRAID_INLINE double whole_exp(double x) {
  Split<double> s = split(held(x, -746.0, 710.0));
  double half = fused_sum(s.n, 0.5, kRounding64);
  double rest = s.n - (half - kRounding64) + kRounding64;
  return small_exp(s.r) * power_of_two(half) * power_of_two(rest);
}

// tanh of 0 <= x < 0.625.
BRAID_INLINE float small_tanh(float x) {
  float z = x * x;
  float p = -5.70498872745e-3f;
  p = fused_sum(p, z, 2.06390887954e-2f);
  p = fused_sum(p, z, -5.37397155531e-2f);
  p = fused_sum(p, z, 1.33314422036e-1f);
  p = fused_sum(p, z, -3.33332819422e-1f);
  return fused_sum(p * z, x, x);
}

BRAID_INLINE double small_tanh(double x) {
  double z = x * x;
  double p = -9.64399179425052238628e-1;
  p = fused_sum(p, z, -9.92877231001918586564e1);
  p = fused_sum(p, z, -1.61468768441708447952e3);
  double q = z + 1.12811678491632931402e2;
  q = fused_sum(q, z, 2.23548839060100448583e3);
  q = fused_sum(q, z, 4.84406305325125486048e3);
  return fused_sum(p / q * z, x, x);
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
  T large = T(1) - T(2) / (rough_exp(a + a) + T(1));
  return with_sign(a < T(0.625) ? small_tanh(a) : large, x);
}

template <class T>
BRAID_INLINE T whole_sigmoid(T x) {
  return T(1) / (T(1) + rough_exp(-x));
}

}  // namespace braid::runtime::BRAID_LEVEL
