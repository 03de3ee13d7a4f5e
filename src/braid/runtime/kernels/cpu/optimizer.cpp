// Updates of one parameter of all members in one pass, in place where the
// plan says so. Element-wise: every element is read before it is written.
#include <ATen/Parallel.h>

#include "braid/runtime/kernels/cpu/cpu_kernels.h"
#include "braid/runtime/kernels/cpu/vectorize.h"

namespace braid::runtime {
namespace {

template <class T>
struct AdamW {
  T decay, add1, keep2, add2, rate, correction2, eps, scale;
};

template <class T>
struct AdamWPlaces {
  T *p, *m, *v;
  const T *p0, *g, *m0, *v0;
};

template <class T>
BRAID_INLINE void adamw_loop(const AdamW<T>& a, const AdamWPlaces<T>& at,
                             int64_t from, int64_t to) {
  BRAID_ELEMENTWISE
  for (int64_t i = from; i < to; ++i) {
    T g = at.g[i] * a.scale;
    T m = at.m0[i] + (g - at.m0[i]) * a.add1;
    T v = at.v0[i] * a.keep2 + g * g * a.add2;
    T denominator = std::sqrt(v) * a.correction2 + a.eps;
    at.p[i] = at.p0[i] * a.decay - a.rate * (m / denominator);
    at.m[i] = m;
    at.v[i] = v;
  }
}

BRAID_VECTORIZE void adamw_part(const AdamW<float>& a,
                                const AdamWPlaces<float>& at, int64_t from,
                                int64_t to) {
  adamw_loop(a, at, from, to);
}

BRAID_VECTORIZE void adamw_part(const AdamW<double>& a,
                                const AdamWPlaces<double>& at, int64_t from,
                                int64_t to) {
  adamw_loop(a, at, from, to);
}

template <class T>
struct Sgd {
  T rate, momentum, keep, decay, scale;
  bool first, uses_buffer, nesterov;
};

template <class T>
struct SgdPlaces {
  T *p, *m;
  const T *p0, *g, *m0;
};

template <class T>
BRAID_INLINE void sgd_loop(const Sgd<T>& s, const SgdPlaces<T>& at,
                           int64_t from, int64_t to) {
  if (!at.m) {
    BRAID_ELEMENTWISE
    for (int64_t i = from; i < to; ++i) {
      T g = at.g[i] * s.scale + at.p0[i] * s.decay;
      at.p[i] = at.p0[i] - g * s.rate;
    }
    return;
  }
  BRAID_ELEMENTWISE
  for (int64_t i = from; i < to; ++i) {
    T g = at.g[i] * s.scale + at.p0[i] * s.decay;
    T m = s.first ? g : at.m0[i] * s.momentum + g * s.keep;
    T d = s.nesterov ? g + m * s.momentum : m;
    at.p[i] = at.p0[i] - (s.uses_buffer ? d : g) * s.rate;
    at.m[i] = m;
  }
}

BRAID_VECTORIZE void sgd_part(const Sgd<float>& s, const SgdPlaces<float>& at,
                              int64_t from, int64_t to) {
  sgd_loop(s, at, from, to);
}

BRAID_VECTORIZE void sgd_part(const Sgd<double>& s, const SgdPlaces<double>& at,
                              int64_t from, int64_t to) {
  sgd_loop(s, at, from, to);
}

// One number per member, read when the step runs.
double value(const Call& c, size_t input, int64_t member) {
  return c.in(input).as<double>()[member];
}

int64_t updates(const Call& c, size_t input, int64_t member) {
  return c.in(input).as<int64_t>()[member];
}

bool is_skipped(const Call& c, size_t keep, int64_t member) {
  return c.has(keep) && value(c, keep, member) == 0;
}

// A skipped member keeps its content; in place there is nothing to do.
void keep_content(const Tensor& out, const Tensor& in, int64_t sets,
                  int64_t member) {
  int64_t bytes = out.bytes() / sets;
  if (out.data == in.data) return;
  std::memcpy(out.data + member * bytes, in.data + member * bytes,
              static_cast<size_t>(bytes));
}

constexpr int64_t kGrain = 16384;

template <class T>
void run_adamw(const Call& c, int64_t sets) {
  int64_t count = c.out(0).numel() / sets;
  for (int64_t b = 0; b < sets; ++b) {
    if (is_skipped(c, 11, b)) {
      keep_content(c.out(0), c.in(0), sets, b);
      keep_content(c.out(1), c.in(2), sets, b);
      keep_content(c.out(2), c.in(3), sets, b);
      continue;
    }
    auto step = static_cast<double>(updates(c, 4, b) + 1);
    double lr = value(c, 5, b), beta1 = value(c, 6, b), beta2 = value(c, 7, b);
    AdamW<T> a{
        .decay = static_cast<T>(1 - lr * value(c, 9, b)),
        .add1 = static_cast<T>(1 - beta1),
        .keep2 = static_cast<T>(beta2),
        .add2 = static_cast<T>(1 - beta2),
        .rate = static_cast<T>(lr / (1 - std::pow(beta1, step))),
        .correction2 = static_cast<T>(1 / std::sqrt(1 - std::pow(beta2, step))),
        .eps = static_cast<T>(value(c, 8, b)),
        .scale = static_cast<T>(c.has(10) ? value(c, 10, b) : 1)};
    int64_t first = b * count;
    AdamWPlaces<T> at{c.out(0).as<T>() + first, c.out(1).as<T>() + first,
                      c.out(2).as<T>() + first, c.in(0).as<T>() + first,
                      c.in(1).as<T>() + first,  c.in(2).as<T>() + first,
                      c.in(3).as<T>() + first};
    at::parallel_for(0, count, kGrain, [&](int64_t from, int64_t to) {
      adamw_part(a, at, from, to);
    });
  }
}

template <class T>
void run_sgd(const Call& c, int64_t sets) {
  int64_t count = c.out(0).numel() / sets;
  for (int64_t b = 0; b < sets; ++b) {
    if (is_skipped(c, 9, b)) {
      keep_content(c.out(0), c.in(0), sets, b);
      if (c.has(2)) keep_content(c.out(1), c.in(2), sets, b);
      continue;
    }
    double momentum = value(c, 5, b);
    Sgd<T> s{.rate = static_cast<T>(value(c, 4, b)),
             .momentum = static_cast<T>(momentum),
             .keep = static_cast<T>(1 - value(c, 6, b)),
             .decay = static_cast<T>(value(c, 7, b)),
             .scale = static_cast<T>(c.has(8) ? value(c, 8, b) : 1),
             .first = updates(c, 3, b) == 0,
             .uses_buffer = momentum != 0,
             .nesterov = c.attrs().flag("nesterov")};
    int64_t first = b * count;
    SgdPlaces<T> at{c.out(0).as<T>() + first,
                    c.has(2) ? c.out(1).as<T>() + first : nullptr,
                    c.in(0).as<T>() + first, c.in(1).as<T>() + first,
                    c.has(2) ? c.in(2).as<T>() + first : nullptr};
    at::parallel_for(0, count, kGrain, [&](int64_t from, int64_t to) {
      sgd_part(s, at, from, to);
    });
  }
}

template <class T>
BRAID_INLINE double squares(const T* x, int64_t count) {
  constexpr int64_t kLanes = 8;
  double sums[kLanes] = {};
  int64_t whole = count / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) {
      auto v = static_cast<double>(x[i + l]);
      sums[l] += v * v;
    }
  }
  double sum = 0;
  for (int64_t i = whole; i < count; ++i) {
    sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
  for (double s : sums) sum += s;
  return sum;
}

BRAID_VECTORIZE double squares_of(const float* x, int64_t count) {
  return squares(x, count);
}

BRAID_VECTORIZE double squares_of(const double* x, int64_t count) {
  return squares(x, count);
}

template <class T>
void run_squares(const Call& c, int64_t sets) {
  int64_t count = c.in(0).numel() / sets;
  for (int64_t b = 0; b < sets; ++b) {
    c.out(0).as<double>()[b] = squares_of(c.in(0).as<T>() + b * count, count);
  }
}

using Body = void (*)(const Call&, int64_t sets);

void add_update(KernelTable& table, const char* op, Body f32, Body f64) {
  table.add(op, [=, general = table.at(op)](const Call& c) -> Run {
    DType dtype = c.in(0).dtype;
    // Gradients may be strided; everything else lies in slots.
    bool plain = dtype == DType::kFloat32 || dtype == DType::kFloat64;
    for (size_t i = 0; i < c.inputs.size() && plain; ++i) {
      plain = !c.has(i) || c.in(i).contiguous();
    }
    if (!plain) return general(c);
    Body body = dtype == DType::kFloat64 ? f64 : f32;
    return
        [c, body, sets = std::max<int64_t>(c.members(), 1)] { body(c, sets); };
  });
}

}  // namespace

void add_cpu_optimizer(KernelTable& table) {
  add_update(table, "adamw_update", run_adamw<float>, run_adamw<double>);
  add_update(table, "sgd_update", run_sgd<float>, run_sgd<double>);
  add_update(table, "sum_squares", run_squares<float>, run_squares<double>);
}

}  // namespace braid::runtime
