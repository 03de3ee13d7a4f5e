// The loops of runtime/kernels/loops written with Highway, for
// bench/highway.cpp alone. Included once per instruction set
// (hwy/foreach_target.h). Arithmetic is that of ours; exp, log and tanh are
// those of hwy/contrib/math. What is left of a loop goes through the same
// vectors with a mask, so that an element's bits do not depend on its place.
#if defined(BRAID_HIGHWAY_LOOPS) == defined(HWY_TARGET_TOGGLE)
#ifdef BRAID_HIGHWAY_LOOPS
#undef BRAID_HIGHWAY_LOOPS
#else
#define BRAID_HIGHWAY_LOOPS
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "highway_table.h"

HWY_BEFORE_NAMESPACE();
namespace braid::bench::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::ScalableTag<T>;

// y = f(x...) for all elements.
template <class T, class F, class... X>
HWY_INLINE void each(int64_t count, F f, T* y, const X*... x) {
  const Tag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(f(hn::LoadU(d, x + i)...), d, y + i);
  }
  if (i == count) return;
  const auto left = hn::FirstN(d, static_cast<size_t>(count - i));
  hn::BlendedStore(f(hn::MaskedLoad(left, d, x + i)...), left, d, y + i);
}

// As the library has it: of NaN and beyond its range it is anything.
struct BareExp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Exp(d, x);
  }
};

struct BareTanh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Tanh(d, x);
  }
};

struct BareLog {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Log(d, x);
  }
};

// NaN stays, and what is too large becomes infinity.
struct Exp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    using T = hn::TFromD<D>;
    const V most = hn::Set(d, sizeof(T) == 4 ? T(89) : T(710));
    return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(d, hn::Min(x, most)));
  }
};

struct Log {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    using T = hn::TFromD<D>;
    const V most = hn::Set(d, hwy::HighestValue<T>());
    return hn::IfThenElse(hn::Le(x, most), hn::Log(d, x), x);
  }
};

struct Tanh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::IfThenElse(hn::IsNaN(x), x, hn::Tanh(d, x));
  }
};

template <class Power>
struct Sigmoid {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V one = hn::Set(d, hn::TFromD<D>(1));
    return hn::Div(one, hn::Add(one, Power{}(d, hn::Neg(x))));
  }
};

template <class Slope>
struct Gelu {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    using T = hn::TFromD<D>;
    const V cube = hn::Mul(hn::Mul(hn::Mul(hn::Set(d, T(0.044715)), x), x), x);
    const V bell = hn::Mul(hn::Set(d, T(0.7978845608028654)), hn::Add(x, cube));
    const V one = hn::Set(d, T(1));
    return hn::Mul(hn::Mul(hn::Set(d, T(0.5)), x),
                   hn::Add(one, Slope{}(d, bell)));
  }
};

template <class T, class F>
void function(T* y, const T* x, int64_t count) {
  const Tag<T> d;
  each<T>(
      count, [d](auto v) HWY_ATTR { return F{}(d, v); }, y, x);
}

template <class T>
void addcmul(T* y, const T* a, const T* b, const T* c, T v, int64_t count) {
  const Tag<T> d;
  const auto factor = hn::Set(d, v);
  each<T>(
      count,
      [factor](auto p, auto q, auto r)
          HWY_ATTR { return hn::Add(p, hn::Mul(hn::Mul(factor, q), r)); },
      y, a, b, c);
}

template <class T>
void hardswish(T* y, const T* x, int64_t count) {
  const Tag<T> d;
  const auto zero = hn::Zero(d), three = hn::Set(d, T(3)),
             six = hn::Set(d, T(6));
  each<T>(
      count,
      [=](auto v) HWY_ATTR {
        // Max and Min would lose NaN on some machines.
        auto h = hn::Add(v, three);
        h = hn::IfThenElse(hn::Lt(h, zero), zero, h);
        h = hn::IfThenElse(hn::Gt(h, six), six, h);
        return hn::Div(hn::Mul(v, h), six);
      },
      y, x);
}

// As many sums side by side as our rows have lanes.
template <class T, class F>
HWY_INLINE T row_sum(int64_t columns, F term) {
  const hn::CappedTag<T, 16> d;
  constexpr int64_t kLanes = 16;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  T sums[kLanes] = {};
  const int64_t whole = columns / kLanes * kLanes;
  if (lanes == kLanes) {
    auto sum = hn::Zero(d);
    for (int64_t i = 0; i < whole; i += kLanes) {
      sum = hn::Add(sum, term(d, i));
    }
    hn::StoreU(sum, d, sums);
  } else if (2 * lanes == kLanes) {
    auto low = hn::Zero(d), high = low;
    for (int64_t i = 0; i < whole; i += kLanes) {
      low = hn::Add(low, term(d, i));
      high = hn::Add(high, term(d, i + lanes));
    }
    hn::StoreU(low, d, sums);
    hn::StoreU(high, d, sums + lanes);
  } else {
    for (int64_t l = 0; l < kLanes; l += lanes) {
      auto sum = hn::Zero(d);
      for (int64_t i = l; i < whole; i += kLanes) {
        sum = hn::Add(sum, term(d, i));
      }
      hn::StoreU(sum, d, sums + l);
    }
  }
  T total = 0;
  for (T s : sums) total += s;
  const hn::CappedTag<T, 1> one;
  for (int64_t i = whole; i < columns; ++i) {
    total += hn::GetLane(term(one, i));
  }
  return total;
}

template <class T>
HWY_INLINE T row_max(const T* x, int64_t columns, T least) {
  const Tag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto top = hn::Set(d, least);
  int64_t i = 0;
  for (; i + lanes <= columns; i += lanes) {
    const auto v = hn::LoadU(d, x + i);
    top = hn::IfThenElse(hn::Gt(v, top), v, top);
  }
  T most = hn::GetLane(hn::MaxOfLanes(d, top));
  for (; i < columns; ++i) most = x[i] > most ? x[i] : most;
  return most;
}

template <class T>
HWY_INLINE void softmax_row(T* y, const T* x, T scale, int64_t columns) {
  const Tag<T> d;
  const auto factor = hn::Set(d, scale);
  each<T>(
      columns, [factor](auto v) HWY_ATTR { return hn::Mul(v, factor); }, y, x);
  const T least = -__builtin_inff();
  T most = row_max(y, columns, least);
  if (most == least) most = T(0);
  const auto top = hn::Set(d, most), lowest = hn::Set(d, least);
  each<T>(
      columns,
      [=](auto v) HWY_ATTR {
        // Not above 0, so the library's range is kept; NaN is not.
        const auto power = hn::Exp(d, hn::Sub(v, top));
        const auto kept = hn::IfThenElse(hn::IsNaN(v), v, power);
        return hn::IfThenElse(hn::Eq(v, lowest), hn::Zero(d), kept);
      },
      y, y);
  const T sum = row_sum<T>(columns, [y](auto tag, int64_t i) HWY_ATTR {
    return hn::LoadU(tag, y + i);
  });
  const auto part = hn::Set(d, sum == T(0) ? T(0) : T(1) / sum);
  each<T>(
      columns, [part](auto v) HWY_ATTR { return hn::Mul(v, part); }, y, y);
}

template <class T>
void softmax(T* y, const T* x, T scale, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    softmax_row(y + r * columns, x + r * columns, scale, columns);
  }
}

template <class T>
HWY_INLINE void norm_row(T* y, const T* x, const T* w, const T* b,
                         int64_t columns, T eps, T& mean, T& rstd) {
  const auto n = static_cast<T>(columns);
  const T m =
      row_sum<T>(columns, [x](auto tag, int64_t i)
                              HWY_ATTR { return hn::LoadU(tag, x + i); }) /
      n;
  const T var = row_sum<T>(columns,
                           [x, m](auto tag, int64_t i) HWY_ATTR {
                             const auto apart = hn::Sub(hn::LoadU(tag, x + i),
                                                        hn::Set(tag, m));
                             return hn::Mul(apart, apart);
                           }) /
                n;
  const T r = T(1) / __builtin_sqrt(var + eps);
  const Tag<T> d;
  const auto middle = hn::Set(d, m), factor = hn::Set(d, r);
  each<T>(
      columns,
      [=](auto v, auto weight, auto bias) HWY_ATTR {
        return hn::Add(hn::Mul(hn::Mul(hn::Sub(v, middle), factor), weight),
                       bias);
      },
      y, x, w, b);
  mean = m;
  rstd = r;
}

template <class T>
void layer_norm(T* y, const T* x, const T* w, const T* b, int64_t rows,
                int64_t columns, double eps, T* mean, T* rstd) {
  for (int64_t r = 0; r < rows; ++r) {
    norm_row(y + r * columns, x + r * columns, w, b, columns,
             static_cast<T>(eps), mean[r], rstd[r]);
  }
}

template <class T>
void sum_rows(T* y, const T* x, int64_t rows, int64_t columns, int64_t step) {
  const Tag<T> d;
  each<T>(
      columns, [d](auto) HWY_ATTR { return hn::Zero(d); }, y, x);
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const T* at = x + r * step;
    each<T>(
        columns,
        [](auto sum, auto a, auto b, auto c, auto e) HWY_ATTR {
          return hn::Add(sum, hn::Add(hn::Add(a, b), hn::Add(c, e)));
        },
        y, y, at, at + step, at + 2 * step, at + 3 * step);
  }
  for (; r < rows; ++r) {
    each<T>(
        columns, [](auto sum, auto a) HWY_ATTR { return hn::Add(sum, a); }, y,
        y, x + r * step);
  }
}

template <class T>
void adamw(const AdamwNumbers<T>& n, T scale, T* p, const T* g, T* s0, T* s1,
           int64_t count) {
  const Tag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto step = [&](auto at_p, auto at_g, auto& m, auto& v) HWY_ATTR {
    const auto grad = hn::Mul(at_g, hn::Set(d, scale));
    m = hn::Add(m, hn::Mul(hn::Sub(grad, m), hn::Set(d, n.add1)));
    v = hn::Add(hn::Mul(v, hn::Set(d, n.keep2)),
                hn::Mul(hn::Mul(grad, grad), hn::Set(d, n.add2)));
    const auto below =
        hn::Add(hn::Mul(hn::Sqrt(v), hn::Set(d, n.root)), hn::Set(d, n.eps));
    return hn::Sub(hn::Mul(at_p, hn::Set(d, n.shrink)),
                   hn::Mul(hn::Set(d, n.rate), hn::Div(m, below)));
  };
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    auto m = hn::LoadU(d, s0 + i), v = hn::LoadU(d, s1 + i);
    hn::StoreU(step(hn::LoadU(d, p + i), hn::LoadU(d, g + i), m, v), d, p + i);
    hn::StoreU(m, d, s0 + i);
    hn::StoreU(v, d, s1 + i);
  }
  if (i == count) return;
  const auto left = hn::FirstN(d, static_cast<size_t>(count - i));
  auto m = hn::MaskedLoad(left, d, s0 + i), v = hn::MaskedLoad(left, d, s1 + i);
  const auto next = step(hn::MaskedLoad(left, d, p + i),
                         hn::MaskedLoad(left, d, g + i), m, v);
  hn::BlendedStore(next, left, d, p + i);
  hn::BlendedStore(m, left, d, s0 + i);
  hn::BlendedStore(v, left, d, s1 + i);
}

// y[M, N] = a[M, K] * b[K, N]: kRows rows and two vectors of columns.
template <class T, int kRows>
HWY_INLINE void tile(T* y, const T* a, const T* b, int64_t n, int64_t k) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  V low[kRows], high[kRows];
  for (int r = 0; r < kRows; ++r) low[r] = high[r] = hn::Zero(d);
  for (int64_t i = 0; i < k; ++i) {
    const V left = hn::LoadU(d, b + i * n),
            right = hn::LoadU(d, b + i * n + lanes);
    for (int r = 0; r < kRows; ++r) {
      const V by = hn::Set(d, a[r * k + i]);
      low[r] = hn::MulAdd(by, left, low[r]);
      high[r] = hn::MulAdd(by, right, high[r]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    hn::StoreU(low[r], d, y + r * n);
    hn::StoreU(high[r], d, y + r * n + lanes);
  }
}

// For m in eights and n in pairs of the widest vectors: what is measured.
template <class T>
void product(T* y, const T* a, const T* b, int64_t m, int64_t n, int64_t k) {
  const Tag<T> d;
  const auto wide = 2 * static_cast<int64_t>(hn::Lanes(d));
  for (int64_t c = 0; c < n; c += wide) {
    for (int64_t r = 0; r < m; r += 8) {
      tile<T, 8>(y + r * n + c, a + r * k, b + c, n, k);
    }
  }
}

template <class T>
HighwayOf<T> make_of() {
  return {function<T, BareExp>,
          function<T, Exp>,
          function<T, BareLog>,
          function<T, Log>,
          function<T, BareTanh>,
          function<T, Tanh>,
          function<T, Sigmoid<BareExp>>,
          function<T, Sigmoid<Exp>>,
          function<T, Gelu<BareTanh>>,
          function<T, Gelu<Tanh>>,
          addcmul<T>,
          hardswish<T>,
          softmax<T>,
          layer_norm<T>,
          sum_rows<T>,
          adamw<T>,
          product<T>};
}

HighwayLoops make() {
  return {hwy::TargetName(HWY_TARGET), make_of<float>(), make_of<double>()};
}

}  // namespace braid::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
