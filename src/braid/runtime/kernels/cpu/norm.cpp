// Layer normalisation over the last dimension, with weights per member.
// B members, R rows of a member, C columns.
#include <ATen/Parallel.h>

#include "braid/runtime/kernels/cpu/cpu_kernels.h"
#include "braid/runtime/kernels/cpu/vectorize.h"

namespace braid::runtime {
namespace {

// Sums in lanes become vector code; the lanes are added in a fixed order.
template <class T, class F>
BRAID_INLINE T lane_sum(int64_t count, F&& term) {
  constexpr int64_t kLanes = 16;
  T sums[kLanes] = {};
  int64_t whole = count / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) sums[l] += term(i + l);
  }
  T sum = 0;
  for (T s : sums) sum += s;
  for (int64_t i = whole; i < count; ++i) sum += term(i);
  return sum;
}

template <class T>
BRAID_INLINE void forward_row(T* y, const T* x, const T* w, const T* b,
                              int64_t columns, double eps, T& mean, T& rstd) {
  auto n = static_cast<T>(columns);
  T m = lane_sum<T>(columns, [&](int64_t i) { return x[i]; }) / n;
  T var =
      lane_sum<T>(columns, [&](int64_t i) { return (x[i] - m) * (x[i] - m); }) /
      n;
  T r = T(1) / std::sqrt(var + static_cast<T>(eps));
  if (w && b) {
    for (int64_t i = 0; i < columns; ++i) y[i] = (x[i] - m) * r * w[i] + b[i];
  } else if (w) {
    for (int64_t i = 0; i < columns; ++i) y[i] = (x[i] - m) * r * w[i];
  } else {
    for (int64_t i = 0; i < columns; ++i) {
      y[i] = (x[i] - m) * r + (b ? b[i] : T(0));
    }
  }
  mean = m;
  rstd = r;
}

// Adds the row to dw and db, then writes dx; dx may lie where dy lies.
template <class T>
BRAID_INLINE void backward_row(T* dx, const T* dy, const T* x, const T* w,
                               T mean, T rstd, int64_t columns, T* dw, T* db) {
  auto n = static_cast<T>(columns);
  auto scaled = [&](int64_t i) { return w ? dy[i] * w[i] : dy[i]; };
  T sum = lane_sum<T>(columns, [&](int64_t i) { return scaled(i); }) / n;
  T dot =
      lane_sum<T>(columns,
                  [&](int64_t i) { return scaled(i) * (x[i] - mean) * rstd; }) /
      n;
  BRAID_ELEMENTWISE
  for (int64_t i = 0; i < columns; ++i) {
    T normal = (x[i] - mean) * rstd;
    T g = dy[i];
    dw[i] += g * normal;
    db[i] += g;
    dx[i] = ((w ? g * w[i] : g) - sum - normal * dot) * rstd;
  }
}

BRAID_VECTORIZE void forward_of(float* y, const float* x, const float* w,
                                const float* b, int64_t columns, double eps,
                                float& mean, float& rstd) {
  forward_row(y, x, w, b, columns, eps, mean, rstd);
}

BRAID_VECTORIZE void forward_of(double* y, const double* x, const double* w,
                                const double* b, int64_t columns, double eps,
                                double& mean, double& rstd) {
  forward_row(y, x, w, b, columns, eps, mean, rstd);
}

BRAID_VECTORIZE void backward_of(float* dx, const float* dy, const float* x,
                                 const float* w, float mean, float rstd,
                                 int64_t columns, float* dw, float* db) {
  backward_row(dx, dy, x, w, mean, rstd, columns, dw, db);
}

BRAID_VECTORIZE void backward_of(double* dx, const double* dy, const double* x,
                                 const double* w, double mean, double rstd,
                                 int64_t columns, double* dw, double* db) {
  backward_row(dx, dy, x, w, mean, rstd, columns, dw, db);
}

struct Sizes {
  int64_t sets, rows, columns;
};

Sizes sizes_of(const Call& c, const Tensor& x) {
  int64_t sets = std::max<int64_t>(c.members(), 1);
  int64_t columns = x.shape.back();
  return {sets, x.numel() / sets / columns, columns};
}

template <class T>
void forward(const Call& c, const Sizes& s) {
  const T* x = c.in(0).as<T>();
  const T* w = c.has(1) ? c.in(1).as<T>() : nullptr;
  const T* b = c.has(2) ? c.in(2).as<T>() : nullptr;
  T *y = c.out(0).as<T>(), *mean = c.out(1).as<T>(), *rstd = c.out(2).as<T>();
  double eps = c.attrs().number("eps");
  at::parallel_for(
      0, s.sets * s.rows, 1 + 16384 / s.columns, [&](int64_t from, int64_t to) {
        for (int64_t r = from; r < to; ++r) {
          int64_t affine = r / s.rows * s.columns;
          forward_of(y + r * s.columns, x + r * s.columns,
                     w ? w + affine : nullptr, b ? b + affine : nullptr,
                     s.columns, eps, mean[r], rstd[r]);
        }
      });
}

// Rows in fixed chunks; each has sums of its own in the workspace, added in
// order at the end.
constexpr int64_t kMaxChunks = 16;

int64_t num_chunks(const Sizes& s) {
  int64_t worth = s.rows * s.columns / 16384;
  return std::clamp<int64_t>(worth, 1, std::min(kMaxChunks, s.rows));
}

template <class T>
void backward(const Call& c, const Sizes& s) {
  const T *dy = c.in(0).as<T>(), *x = c.in(1).as<T>();
  const T* w = c.has(2) ? c.in(2).as<T>() : nullptr;
  const T *mean = c.in(3).as<T>(), *rstd = c.in(4).as<T>();
  T* dx = c.out(0).as<T>();
  int64_t chunks = num_chunks(s), columns = s.columns;
  int64_t needed = s.sets * chunks * 2 * columns;
  std::vector<T> own;
  auto* sums = reinterpret_cast<T*>(c.workspace->data);
  c.workspace->needed_bytes = needed * static_cast<int64_t>(sizeof(T));
  if (!sums) {
    own.resize(static_cast<size_t>(needed));
    sums = own.data();
  }
  std::fill_n(sums, needed, T(0));
  at::parallel_for(0, s.sets * chunks, 1, [&](int64_t from, int64_t to) {
    for (int64_t k = from; k < to; ++k) {
      int64_t set = k / chunks, part = k % chunks;
      T* dw = sums + k * 2 * columns;
      int64_t begin = s.rows * part / chunks,
              end = s.rows * (part + 1) / chunks;
      for (int64_t r = set * s.rows + begin; r < set * s.rows + end; ++r) {
        backward_of(dx + r * columns, dy + r * columns, x + r * columns,
                    w ? w + set * columns : nullptr, mean[r], rstd[r], columns,
                    dw, dw + columns);
      }
    }
  });
  for (int64_t set = 0; set < s.sets; ++set) {
    for (int64_t which = 0; which < 2; ++which) {
      T* out = c.out(which == 0 ? 1 : 2).as<T>() + set * columns;
      std::fill_n(out, columns, T(0));
      for (int64_t k = set * chunks; k < (set + 1) * chunks; ++k) {
        const T* part = sums + (k * 2 + which) * columns;
        for (int64_t i = 0; i < columns; ++i) out[i] += part[i];
      }
    }
  }
}

using Body = void (*)(const Call&, const Sizes&);

Run prepare(const Call& c, const Tensor& x, Body f32, Body f64,
            const Kernel& general) {
  bool plain = x.numel() > 0 &&
               (x.dtype == DType::kFloat32 || x.dtype == DType::kFloat64);
  for (size_t i = 0; i < c.inputs.size() && plain; ++i) {
    plain = !c.has(i) || c.in(i).contiguous();
  }
  if (!plain) return general(c);
  Body body = x.dtype == DType::kFloat64 ? f64 : f32;
  return [c, body, sizes = sizes_of(c, x)] { body(c, sizes); };
}

}  // namespace

void add_cpu_norm(KernelTable& table) {
  table.add("layer_norm", [general = table.at("layer_norm")](const Call& c) {
    return prepare(c, c.in(0), forward<float>, forward<double>, general);
  });
  table.add("layer_norm_backward", [general = table.at("layer_norm_backward")](
                                       const Call& c) {
    return prepare(c, c.in(1), backward<float>, backward<double>, general);
  });
}

}  // namespace braid::runtime
