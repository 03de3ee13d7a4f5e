// Matrix products on raw pointers, so that no tensor is made per call: small
// ones by loops of our own, others by BLAS.
#include "braid/runtime/kernels/cpu/cpu_kernels.h"
#include "braid/runtime/kernels/cpu/parallel_for.h"
#include "braid/runtime/kernels/cpu/product.h"

extern "C" {
void sgemm_(const char* trans_a, const char* trans_b, const int* m,
            const int* n, const int* k, const float* alpha, const float* a,
            const int* lda, const float* b, const int* ldb, const float* beta,
            float* c, const int* ldc);
void dgemm_(const char* trans_a, const char* trans_b, const int* m,
            const int* n, const int* k, const double* alpha, const double* a,
            const int* lda, const double* b, const int* ldb, const double* beta,
            double* c, const int* ldc);
}

namespace braid::runtime {
namespace {

void gemm(char ta, char tb, int m, int n, int k, const float* a, int lda,
          const float* b, int ldb, float beta, float* c, int ldc) {
  float one = 1;
  CallSettings::before_blas();
  sgemm_(&ta, &tb, &m, &n, &k, &one, a, &lda, b, &ldb, &beta, c, &ldc);
}

void gemm(char ta, char tb, int m, int n, int k, const double* a, int lda,
          const double* b, int ldb, double beta, double* c, int ldc) {
  double one = 1;
  CallSettings::before_blas();
  dgemm_(&ta, &tb, &m, &n, &k, &one, a, &lda, b, &ldb, &beta, c, &ldc);
}

template <class T>
void run_entry(const Product& p, int64_t i) {
  auto m = static_cast<int>(p.a.rows), n = static_cast<int>(p.b.columns);
  auto k = static_cast<int>(p.a.columns);
  BatchDim at = p.entry(i);
  auto* y = reinterpret_cast<T*>(p.y) + i * p.step_y();
  const auto* a = reinterpret_cast<const T*>(p.a.data) + at.step_a;
  const auto* b = reinterpret_cast<const T*>(p.b.data) + at.step_b;
  if (p.bias) {
    const auto* bias = reinterpret_cast<const T*>(p.bias) + i * n;
    for (int row = 0; row < m; ++row) std::copy_n(bias, n, y + row * n);
  }
  T beta = p.bias ? T(1) : T(0);
  gemm(p.b.order, p.a.order, n, m, k, b, p.b.leading, a, p.a.leading, beta, y,
       n);
}

double entry_flops(const Product& p) {
  return 2.0 * static_cast<double>(p.a.rows) *
         static_cast<double>(p.a.columns) * static_cast<double>(p.b.columns);
}

// Where our own loops are as fast as BLAS or faster. Few rows do not pay for
// turning b around. A function of the entry's shape alone, so that a member
// has the same bits in any array.
bool is_small(const Product& p) {
  constexpr double kMostFlops = 2.0 * 64 * 64 * 64;
  if (entry_flops(p) > kMostFlops) return false;
  return p.b.order == 'N' ||
         (p.a.rows >= 4 && p.b.rows * p.b.columns <= kMaxTurned);
}

template <class T>
SmallProduct<T> small_entry(const Product& p) {
  auto rows = [](const Matrix& m) { return m.order == 'N' ? m.leading : 1; };
  auto columns = [](const Matrix& m) { return m.order == 'N' ? 1 : m.leading; };
  return {.y = reinterpret_cast<T*>(p.y),
          .a = reinterpret_cast<const T*>(p.a.data),
          .b = reinterpret_cast<const T*>(p.b.data),
          .bias = reinterpret_cast<const T*>(p.bias),
          .m = p.a.rows,
          .n = p.b.columns,
          .k = p.a.columns,
          .a_row = rows(p.a),
          .a_column = columns(p.a),
          .b_row = rows(p.b),
          .b_column = columns(p.b)};
}

// Entries are shared out among threads.
template <class F>
void spread_entries(const Product& p, const F& run) {
  auto grain = static_cast<int64_t>(1e6 / std::max(entry_flops(p), 1.0)) + 1;
  parallel_for(p.batch, grain, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) run(i);
  });
}

template <class T>
Thunk make_small_run(const Product& p, const LoopsOf<T>& loops) {
  return [p, first = small_entry<T>(p), product = loops.product] {
    spread_entries(p, [&](int64_t i) {
      BatchDim at = p.entry(i);
      SmallProduct<T> entry = first;
      entry.y += i * p.step_y();
      entry.a += at.step_a;
      entry.b += at.step_b;
      if (entry.bias) entry.bias += i * entry.n;
      product(entry);
    });
  };
}

template <class T>
Thunk make_run(const Product& p, const LoopsOf<T>& loops) {
  if (is_small(p)) return make_small_run(p, loops);
  if (p.batch > 1 && entry_flops(p) < 4e6) {
    return [p] { spread_entries(p, [&](int64_t i) { run_entry<T>(p, i); }); };
  }
  // Large entries use all threads.
  return [p] {
    for (int64_t i = 0; i < p.batch; ++i) run_entry<T>(p, i);
  };
}

Thunk make_run(const Product& p, DType dtype, const Loops& loops) {
  return dtype == DType::kFloat64 ? make_run(p, loops.f64)
                                  : make_run(p, loops.f32);
}

bool is_gemm_type(const Tensor& t) {
  return t.dtype == DType::kFloat32 || t.dtype == DType::kFloat64;
}

Thunk prepare_linear(const Call& c, const Loops& loops, const Kernel& general) {
  if (!is_gemm_type(c.in(0))) return general(c);
  auto product = linear_product(c);
  if (!product || product->has_relu) return general(c);
  return make_run(*product, c.in(0).dtype, loops);
}

Thunk prepare_matmul(const Call& c, const Loops& loops, const Kernel& general) {
  if (!is_gemm_type(c.in(0))) return general(c);
  auto product = matmul_product(c);
  return product ? make_run(*product, c.in(0).dtype, loops) : general(c);
}

}  // namespace

template <class T>
void multiply(const Matrix& a, const Matrix& b, T* y, const LoopsOf<T>& loops) {
  Product p;
  p.a = a;
  p.b = b;
  p.y = reinterpret_cast<std::byte*>(y);
  if (is_small(p)) {
    loops.product(small_entry<T>(p));
  } else {
    run_entry<T>(p, 0);
  }
}

template void multiply(const Matrix&, const Matrix&, float*,
                       const LoopsOf<float>&);
template void multiply(const Matrix&, const Matrix&, double*,
                       const LoopsOf<double>&);

void add_cpu_gemm(KernelTable& table, const Loops& loops) {
  table.add("linear", [loops, general = table.at("linear")](const Call& c) {
    return prepare_linear(c, loops, general);
  });
  table.add("matmul", [loops, general = table.at("matmul")](const Call& c) {
    return prepare_matmul(c, loops, general);
  });
}

}  // namespace braid::runtime
