// Steps of fusions: one loop per op, over operands that lie in a cache. The
// formulas, and what they make of NaN, are libtorch's.
#include "braid/runtime/kernels/loops/level/math.h"

namespace braid::runtime::BRAID_LEVEL {
namespace {

template <class T, class Formula>
void loop(T* y, const T* a, const T* b, const T* c, T v, T w, int64_t n) {
  BRAID_ELEMENTWISE
  for (int64_t i = 0; i < n; ++i) y[i] = Formula{}(a[i], b[i], c[i], v, w);
}

template <class T, class Formula>
constexpr FusionRow<T> row(const char* op, Formula) {
  return {op, loop<T, Formula>};
}

// v is one of the powers that fusions know.
template <class T>
void power(T* y, const T* a, const T*, const T*, T v, T, int64_t n) {
  auto each = [&](auto formula) __attribute__((always_inline)) {
    BRAID_ELEMENTWISE
    for (int64_t i = 0; i < n; ++i) y[i] = formula(a[i]);
  };
  if (v == T(2)) return each([](T x) { return x * x; });
  if (v == T(3)) return each([](T x) { return x * x * x; });
  if (v == T(0.5)) return each([](T x) { return std::sqrt(x); });
  if (v == T(-0.5)) return each([](T x) { return T(1) / std::sqrt(x); });
  each([](T x) { return T(1) / x; });
}

template <class T>
BRAID_INLINE T sixth(T x) {
  return held(x + T(3), T(0), T(6)) / T(6);
}

// In its gradient libtorch has one for all types.
constexpr float kSixth = 1.0f / 6.0f;

// What tanh sees in gelu, and its derivative.
template <class T>
BRAID_INLINE T bell(T x) {
  return T(0.7978845608028654) * (x + T(0.044715) * x * x * x);
}

template <class T>
BRAID_INLINE T bell_slope(T x) {
  return T(0.7978845608028654) * (T(1) + T(3 * 0.044715) * x * x);
}

template <class T>
BRAID_INLINE T gelu_backward(T dy, T x) {
  T t = whole_tanh(bell(x));
  T slope = (T(1) - t * t) * bell_slope(x);
  return dy * (T(0.5) * (T(1) + t) + T(0.5) * x * slope);
}

template <class T>
BRAID_INLINE T silu_backward(T dy, T x) {
  T s = whole_sigmoid(x);
  return dy * s * (T(1) + x * (T(1) - s));
}

// From the nearer end, as rounding is least there.
template <class T>
BRAID_INLINE T between(T a, T b, T weight) {
  T near_a = a + weight * (b - a), near_b = b - (b - a) * (T(1) - weight);
  return magnitude(weight) < T(0.5) ? near_a : near_b;
}

template <class T>
struct Rows {
  static constexpr FusionRow<T> all[] = {
      row<T>("add", [](T a, T b, T, T, T) { return a + b; }),
      row<T>("sub", [](T a, T b, T, T, T) { return a - b; }),
      row<T>("mul", [](T a, T b, T, T, T) { return a * b; }),
      row<T>("div", [](T a, T b, T, T, T) { return a / b; }),
      row<T>("add_alpha", [](T a, T b, T, T v, T) { return a + v * b; }),
      row<T>("add_scalar", [](T a, T, T, T v, T) { return a + v; }),
      row<T>("mul_scalar", [](T a, T, T, T v, T) { return a * v; }),
      row<T>("div_scalar", [](T a, T, T, T v, T) { return a / v; }),
      row<T>("rsub_scalar", [](T a, T, T, T v, T) { return v - a; }),
      row<T>("neg", [](T a, T, T, T, T) { return -a; }),
      row<T>("abs", [](T a, T, T, T, T) { return magnitude(a); }),
      row<T>("square", [](T a, T, T, T, T) { return a * a; }),
      row<T>("sqrt", [](T a, T, T, T, T) { return std::sqrt(a); }),
      row<T>("rsqrt", [](T a, T, T, T, T) { return T(1) / std::sqrt(a); }),
      row<T>("reciprocal", [](T a, T, T, T, T) { return T(1) / a; }),
      {"pow_scalar", power<T>},
      row<T>("exp", [](T a, T, T, T, T) { return whole_exp(a); }),
      row<T>("maximum",
             [](T a, T b, T, T, T) { return a > b || a != a ? a : b; }),
      row<T>("minimum",
             [](T a, T b, T, T, T) { return a < b || a != a ? a : b; }),
      row<T>("clamp", [](T a, T, T, T v, T w) { return held(a, v, w); }),
      row<T>("addcmul", [](T a, T b, T c, T v, T) { return a + v * b * c; }),
      row<T>("addcdiv", [](T a, T b, T c, T v, T) { return a + v * b / c; }),
      row<T>("lerp", [](T a, T b, T c, T, T) { return between(a, b, c); }),
      row<T>("lerp_scalar",
             [](T a, T b, T, T v, T) { return between(a, b, v); }),
      row<T>("relu", [](T a, T, T, T, T) { return a < T(0) ? T(0) : a; }),
      row<T>("relu_backward",
             [](T dy, T y, T, T, T) { return y <= T(0) ? T(0) : dy; }),
      row<T>("leaky_relu",
             [](T a, T, T, T v, T) { return a > T(0) ? a : a * v; }),
      row<T>("leaky_relu_backward",
             [](T dy, T x, T, T v, T) { return x > T(0) ? dy : dy * v; }),
      row<T>("hardtanh", [](T a, T, T, T v, T w) { return held(a, v, w); }),
      row<T>(
          "hardtanh_backward",
          [](T dy, T x, T, T v, T w) { return x <= v || x >= w ? T(0) : dy; }),
      row<T>("hardsigmoid", [](T a, T, T, T, T) { return sixth(a); }),
      row<T>("hardsigmoid_backward",
             [](T dy, T x, T, T, T) {
               return x > T(-3) && x < T(3) ? dy * kSixth : T(0);
             }),
      row<T>("hardswish",
             [](T a, T, T, T, T) {
               return a * held(a + T(3), T(0), T(6)) / T(6);
             }),
      row<T>("hardswish_backward",
             [](T dy, T x, T, T, T) {
               T middle = dy * (x / T(3) + T(0.5));
               T right = x < T(3) ? middle : dy;
               return x <= T(-3) ? T(0) : right;
             }),
      row<T>("tanh", [](T a, T, T, T, T) { return whole_tanh(a); }),
      row<T>("tanh_backward",
             [](T dy, T y, T, T, T) { return dy * (T(1) - y * y); }),
      row<T>("sigmoid", [](T a, T, T, T, T) { return whole_sigmoid(a); }),
      row<T>("sigmoid_backward",
             [](T dy, T y, T, T, T) { return dy * (T(1) - y) * y; }),
      row<T>("silu",
             [](T a, T, T, T, T) { return a / (T(1) + rough_exp<Once>(-a)); }),
      row<T>("silu_backward",
             [](T dy, T x, T, T, T) { return silu_backward(dy, x); }),
      row<T>("gelu",
             [](T x, T, T, T, T) {
               return T(0.5) * x * (T(1) + whole_tanh(bell(x)));
             }),
      row<T>("gelu_backward",
             [](T dy, T x, T, T, T) { return gelu_backward(dy, x); }),
  };
};

}  // namespace

template <class T>
void add_fusion(LoopsOf<T>& loops) {
  loops.fusion = Rows<T>::all;
  loops.num_fusion = sizeof Rows<T>::all / sizeof Rows<T>::all[0];
}

template void add_fusion(LoopsOf<float>& loops);
template void add_fusion(LoopsOf<double>& loops);

}  // namespace braid::runtime::BRAID_LEVEL
