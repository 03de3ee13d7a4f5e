// What an optimizer does to one element: a rule holds a member's coefficients
// and turns (parameter, gradient, states) into the next ones. The same rules
// run on every device. T is the parameter's type; kHas has a bit for each
// state that is there.
#pragma once

#include <cmath>
#include <cstdint>

#include "braid/base/rng.h"
#include "braid/runtime/kernels/update_inputs.h"

namespace braid::runtime {
#ifdef BRAID_LEVEL  // compiled once per instruction set: loops/level/level.h
namespace BRAID_LEVEL {
#endif

// base^n for a whole n from 0, rounded once: the libraries' pow() differ by
// device in the last bit. Products are carried in two numbers; nothing here may
// be contracted into fused operations.
struct TwoDoubles {
  double high, low;
};

BRAID_HOST_DEVICE inline TwoDoubles halves_of(double x) {
  double scaled = x * 134217729;  // 2^27 + 1
  double high = scaled - (scaled - x);
  return {high, x - high};
}

BRAID_HOST_DEVICE inline TwoDoubles product_of(TwoDoubles a, TwoDoubles b) {
  double product = a.high * b.high;
  TwoDoubles x = halves_of(a.high), y = halves_of(b.high);
  double error =
      ((x.high * y.high - product) + x.high * y.low + x.low * y.high) +
      x.low * y.low;
  error += a.high * b.low + a.low * b.high;
  double high = product + error;
  return {high, error - (high - product)};
}

BRAID_HOST_DEVICE inline double whole_power(double base, double n) {
  TwoDoubles result{1, 0}, square{base, 0};
  for (auto left = static_cast<uint64_t>(n); left > 0; left >>= 1) {
    if (left & 1) result = product_of(result, square);
    square = product_of(square, square);
  }
  return result.high;
}

template <class T>
struct SgdRule {
  static constexpr int kStates = 1;
  T rate, momentum, keep, decay;
  bool first, uses_buffer, nesterov;

  BRAID_HOST_DEVICE explicit SgdRule(const UpdateInputs& in)
      : rate(static_cast<T>(in.value[0])),
        momentum(static_cast<T>(in.value[1])),
        keep(static_cast<T>(1 - in.value[2])),
        decay(static_cast<T>(in.value[3])),
        first(in.step == 1),
        uses_buffer(in.value[1] != 0),
        nesterov(in.nesterov) {}

  template <unsigned kHas>
  BRAID_HOST_DEVICE void apply(T& p, T g, T* s) const {
    g = g + p * decay;
    T d = g;
    if constexpr (kHas & 1) {
      s[0] = first ? g : s[0] * momentum + g * keep;
      d = nesterov ? g + s[0] * momentum : s[0];
      d = uses_buffer ? d : g;
    }
    p = p - d * rate;
  }
};

// What Adam and its kin have in common: s[0] and s[1] are running means of g
// and of g * g; weights decay on their own (decoupled) or as part of g.
template <class T>
struct MomentRule {
  static constexpr int kStates = 2;
  T add1, keep2, add2, eps, shrink, decay;

  BRAID_HOST_DEVICE MomentRule(const UpdateInputs& in, bool decoupled)
      : add1(static_cast<T>(1 - in.value[1])),
        keep2(static_cast<T>(in.value[2])),
        add2(static_cast<T>(1 - in.value[2])),
        eps(static_cast<T>(in.value[3])),
        shrink(static_cast<T>(decoupled ? 1 - in.value[0] * in.value[4] : 1)),
        decay(static_cast<T>(decoupled ? 0 : in.value[4])) {}

  BRAID_HOST_DEVICE void add_moments(T g, T* s) const {
    s[0] = s[0] + (g - s[0]) * add1;
    s[1] = s[1] * keep2 + g * g * add2;
  }

  BRAID_HOST_DEVICE void decay_and_add(T& p, T& g, T* s) const {
    p = p * shrink;
    g = g + p * decay;
    add_moments(g, s);
  }
};

// Both forms of Adam; AdamW is the decoupled one.
template <class T, bool kAlwaysDecoupled>
struct AdamRule : MomentRule<T> {
  static constexpr int kStates = kAlwaysDecoupled ? 2 : 3;
  T rate, root;

  BRAID_HOST_DEVICE explicit AdamRule(const UpdateInputs& in)
      : MomentRule<T>(in, kAlwaysDecoupled || in.decoupled),
        rate(static_cast<T>(in.value[0] /
                            (1 - whole_power(in.value[1], in.step)))),
        root(static_cast<T>(
            1 / std::sqrt(1 - whole_power(in.value[2], in.step)))) {}

  template <unsigned kHas>
  BRAID_HOST_DEVICE void apply(T& p, T g, T* s) const {
    if constexpr (!kAlwaysDecoupled) g = g + p * this->decay;
    this->add_moments(g, s);
    T v = s[1];
    if constexpr (kHas & 4) v = s[2] = s[2] > v ? s[2] : v;
    p = p * this->shrink - rate * (s[0] / (std::sqrt(v) * root + this->eps));
  }
};

template <class T>
struct AdadeltaRule {
  static constexpr int kStates = 2;
  T rate, rho, add, eps, decay;

  BRAID_HOST_DEVICE explicit AdadeltaRule(const UpdateInputs& in)
      : rate(static_cast<T>(in.value[0])),
        rho(static_cast<T>(in.value[1])),
        add(static_cast<T>(1 - in.value[1])),
        eps(static_cast<T>(in.value[2])),
        decay(static_cast<T>(in.value[3])) {}

  template <unsigned>
  BRAID_HOST_DEVICE void apply(T& p, T g, T* s) const {
    g = g + p * decay;
    s[0] = s[0] * rho + g * g * add;
    T delta = std::sqrt(s[1] + eps) / std::sqrt(s[0] + eps) * g;
    s[1] = s[1] * rho + delta * delta * add;
    p = p - rate * delta;
  }
};

template <class T>
struct AdagradRule {
  static constexpr int kStates = 1;
  T rate, eps, decay;

  BRAID_HOST_DEVICE explicit AdagradRule(const UpdateInputs& in)
      : rate(static_cast<T>(in.value[0] / (1 + (in.step - 1) * in.value[1]))),
        eps(static_cast<T>(in.value[2])),
        decay(static_cast<T>(in.value[3])) {}

  template <unsigned>
  BRAID_HOST_DEVICE void apply(T& p, T g, T* s) const {
    g = g + p * decay;
    s[0] = s[0] + g * g;
    p = p - rate * (g / (std::sqrt(s[0]) + eps));
  }
};

template <class T>
struct RmspropRule {
  static constexpr int kStates = 3;
  T rate, alpha, add, eps, decay, momentum;
  bool uses_buffer;

  BRAID_HOST_DEVICE explicit RmspropRule(const UpdateInputs& in)
      : rate(static_cast<T>(in.value[0])),
        alpha(static_cast<T>(in.value[1])),
        add(static_cast<T>(1 - in.value[1])),
        eps(static_cast<T>(in.value[2])),
        decay(static_cast<T>(in.value[3])),
        momentum(static_cast<T>(in.value[4])),
        uses_buffer(in.value[4] > 0) {}

  template <unsigned kHas>
  BRAID_HOST_DEVICE void apply(T& p, T g, T* s) const {
    g = g + p * decay;
    s[0] = s[0] * alpha + g * g * add;
    T v = s[0];
    if constexpr (kHas & 4) {
      s[2] = s[2] + (g - s[2]) * add;
      v = v - s[2] * s[2];
    }
    T d = g / (std::sqrt(v) + eps);
    if constexpr (kHas & 2) {
      s[1] = uses_buffer ? s[1] * momentum + d : s[1];
      d = uses_buffer ? s[1] : d;
    }
    p = p - rate * d;
  }
};

// The momentum of NAdam at a step.
BRAID_HOST_DEVICE inline double nadam_momentum(double beta1, double decay,
                                               double step) {
  return beta1 * (1 - 0.5 * std::pow(0.96, step * decay));
}

// `extra` is the product of the momenta of all steps before this one, in
// float64. torch keeps it in its default dtype: in float32 that moves
// parameters by some 1e-9 in 200 steps.
template <class T>
struct NadamRule : MomentRule<T> {
  T rate_g, rate_m, correction2;

  BRAID_HOST_DEVICE explicit NadamRule(const UpdateInputs& in)
      : MomentRule<T>(in, in.decoupled) {
    double lr = in.value[0], beta1 = in.value[1], beta2 = in.value[2];
    double mu = nadam_momentum(beta1, in.value[5], in.step);
    double next = nadam_momentum(beta1, in.value[5], in.step + 1);
    double product = in.extra * mu;
    rate_g = static_cast<T>(lr * (1 - mu) / (1 - product));
    rate_m = static_cast<T>(lr * next / (1 - product * next));
    correction2 = static_cast<T>(1 / (1 - whole_power(beta2, in.step)));
  }

  template <unsigned>
  BRAID_HOST_DEVICE void apply(T& p, T g, T* s) const {
    this->decay_and_add(p, g, s);
    T denominator = std::sqrt(s[1] * correction2) + this->eps;
    p = p - rate_g * (g / denominator) - rate_m * (s[0] / denominator);
  }
};

template <class T>
struct RadamRule : MomentRule<T> {
  T rate, adapt;
  bool is_known;

  BRAID_HOST_DEVICE explicit RadamRule(const UpdateInputs& in)
      : MomentRule<T>(in, in.decoupled) {
    double lr = in.value[0], beta1 = in.value[1], beta2 = in.value[2];
    double power = whole_power(beta2, in.step);
    double most = 2 / (1 - beta2) - 1;
    double length = most - 2 * in.step * power / (1 - power);
    is_known = length > 5;
    double rectified = is_known ? std::sqrt((length - 4) * (length - 2) * most /
                                            ((most - 4) * (most - 2) * length))
                                : 0;
    rate = static_cast<T>(lr / (1 - whole_power(beta1, in.step)));
    adapt = static_cast<T>(rectified * std::sqrt(1 - power));
  }

  template <unsigned>
  BRAID_HOST_DEVICE void apply(T& p, T g, T* s) const {
    this->decay_and_add(p, g, s);
    T factor = is_known ? adapt / (std::sqrt(s[1]) + this->eps) : T(1);
    p = p - s[0] * rate * factor;
  }
};

template <class T>
struct LionRule {
  static constexpr int kStates = 1;
  T rate, keep1, add1, keep2, add2, shrink;

  BRAID_HOST_DEVICE explicit LionRule(const UpdateInputs& in)
      : rate(static_cast<T>(in.value[0])),
        keep1(static_cast<T>(in.value[1])),
        add1(static_cast<T>(1 - in.value[1])),
        keep2(static_cast<T>(in.value[2])),
        add2(static_cast<T>(1 - in.value[2])),
        shrink(static_cast<T>(1 - in.value[0] * in.value[3])) {}

  template <unsigned>
  BRAID_HOST_DEVICE void apply(T& p, T g, T* s) const {
    T c = s[0] * keep1 + g * add1;
    T sign = static_cast<T>(c > T(0)) - static_cast<T>(c < T(0));
    p = p * shrink - rate * (c == c ? sign : c);  // NaN stays NaN
    s[0] = s[0] * keep2 + g * add2;
  }
};

#ifdef BRAID_LEVEL
}
#endif
}  // namespace braid::runtime
