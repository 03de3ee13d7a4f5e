// Functions without branches or calls, so that loops over them become vector
// code. They are right for every number, NaN and infinities included, unless
// they say otherwise: f32 is good to 3 units in the last place, f64 to 4.
// exp, tanh and sigmoid of Highway with such ends take 12 to 47 % longer:
// bench/results/highway.txt.
#pragma once

#include "braid/runtime/kernels/loops/level/level.h"

namespace braid::runtime::BRAID_LEVEL {

// a * b + c. Rounded once where the instruction set can: faster and nearer, but
// levels differ in the last bits.
struct Once {
  BRAID_INLINE static float sum(float a, float b, float c) {
#ifdef __FMA__
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
  }

  BRAID_INLINE static double sum(double a, double b, double c) {
#ifdef __FMA__
    return __builtin_fma(a, b, c);
#else
    return a * b + c;
#endif
  }
};

// Rounded twice: the same bits at every level.
struct Twice {
  template <class T>
  BRAID_INLINE static T sum(T a, T b, T c) {
    return a * b + c;
  }
};

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

template <class Rounded>
BRAID_INLINE Split<float> split(float x) {
  float rounded = Rounded::sum(x, 1.44269504f, kRounding32);
  float n = rounded - kRounding32;
  float r = Rounded::sum(n, -0.693359375f, x);
  return {rounded, n, Rounded::sum(n, 2.12194440e-4f, r)};
}

template <class Rounded>
BRAID_INLINE Split<double> split(double x) {
  double rounded = Rounded::sum(x, 1.4426950408889634, kRounding64);
  double n = rounded - kRounding64;
  double r = Rounded::sum(n, -6.93147180369123816490e-01, x);
  return {rounded, n, Rounded::sum(n, -1.90821492927058770002e-10, r)};
}

// e^r for |r| <= ln 2 / 2, by polynomials of least error there (f64: 1.7e-17).
template <class Rounded>
BRAID_INLINE float small_exp(float r) {
  float p = 1.9875691500e-4f;
  p = Rounded::sum(p, r, 1.3981999507e-3f);
  p = Rounded::sum(p, r, 8.3334519073e-3f);
  p = Rounded::sum(p, r, 4.1665795894e-2f);
  p = Rounded::sum(p, r, 1.6666665459e-1f);
  p = Rounded::sum(p, r, 5.0000001201e-1f);
  return Rounded::sum(p * r, r, r) + 1.0f;
}

template <class Rounded>
BRAID_INLINE double small_exp(double r) {
  double p = 2.5100424157005067e-08;
  p = Rounded::sum(p, r, 2.7620138719733994e-07);
  p = Rounded::sum(p, r, 2.7557268378684192e-06);
  p = Rounded::sum(p, r, 2.480152119021773e-05);
  p = Rounded::sum(p, r, 1.9841269863105968e-04);
  p = Rounded::sum(p, r, 1.3888888917281794e-03);
  p = Rounded::sum(p, r, 8.333333333330051e-03);
  p = Rounded::sum(p, r, 4.166666666662399e-02);
  p = Rounded::sum(p, r, 1.6666666666666669e-01);
  p = Rounded::sum(p, r, 5.000000000000001e-01);
  return Rounded::sum(p * r, r, r) + 1.0;
}

// NaN stays. Of limits in the wrong order the upper one counts. Both compare x
// itself: in a chain, compilers take three paths through all that follows.
template <class T>
BRAID_INLINE T held(T x, T least, T most) {
  T lower = least > most ? most : least;
  T raised = x < lower ? lower : x;
  return x > most ? most : raised;
}

// e^x, but 0 and infinity where it is nearly so: for 1 + e^x.
template <class Rounded>
BRAID_INLINE float rough_exp(float x) {
  Split<float> s = split<Rounded>(held(x, -88.0f, 89.0f));
  return small_exp<Rounded>(s.r) * power_of_two(s.rounded);
}

template <class Rounded>
BRAID_INLINE double rough_exp(double x) {
  Split<double> s = split<Rounded>(held(x, -709.0, 710.0));
  return small_exp<Rounded>(s.r) * power_of_two(s.rounded);
}

// e^x. 2^n is made in two steps, as it may be no normal number.
BRAID_INLINE float whole_exp(float x) {
  Split<float> s = split<Once>(held(x, -105.0f, 89.0f));
  float half = Once::sum(s.n, 0.5f, kRounding32);
  float rest = s.n - (half - kRounding32) + kRounding32;
  return small_exp<Once>(s.r) * power_of_two(half) * power_of_two(rest);
}

BRAID_INLINE double whole_exp(double x) {
  Split<double> s = split<Once>(held(x, -746.0, 710.0));
  double half = Once::sum(s.n, 0.5, kRounding64);
  double rest = s.n - (half - kRounding64) + kRounding64;
  return small_exp<Once>(s.r) * power_of_two(half) * power_of_two(rest);
}

// tanh of 0 <= x < 0.625.
BRAID_INLINE float small_tanh(float x) {
  float z = x * x;
  float p = -5.70498872745e-3f;
  p = Once::sum(p, z, 2.06390887954e-2f);
  p = Once::sum(p, z, -5.37397155531e-2f);
  p = Once::sum(p, z, 1.33314422036e-1f);
  p = Once::sum(p, z, -3.33332819422e-1f);
  return Once::sum(p * z, x, x);
}

BRAID_INLINE double small_tanh(double x) {
  double z = x * x;
  double p = -9.64399179425052238628e-1;
  p = Once::sum(p, z, -9.92877231001918586564e1);
  p = Once::sum(p, z, -1.61468768441708447952e3);
  double q = z + 1.12811678491632931402e2;
  q = Once::sum(q, z, 2.23548839060100448583e3);
  q = Once::sum(q, z, 4.84406305325125486048e3);
  return Once::sum(p / q * z, x, x);
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
  T large = T(1) - T(2) / (rough_exp<Once>(a + a) + T(1));
  return with_sign(a < T(0.625) ? small_tanh(a) : large, x);
}

template <class T>
BRAID_INLINE T whole_sigmoid(T x) {
  return T(1) / (T(1) + rough_exp<Once>(-x));
}

// ln x of what a sum of exponentials can be: of normal x, infinity and NaN.
// x = m 2^e with m in [sqrt(1/2), sqrt(2)), ln m by a polynomial.
BRAID_INLINE float log_of_sum(float x) {
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

BRAID_INLINE double log_of_sum(double x) { return std::log(x); }

}  // namespace braid::runtime::BRAID_LEVEL
