// Matrix products on raw pointers, so that no tensor is made per call: small
// ones by loops of our own, others by BLAS.
// y[M, N] = a[M, K] * b[K, N], all with any strides that BLAS can read.
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

bool make_matrix(const Tensor& t, size_t row_dim, Matrix& m) {
  m.data = t.data;
  m.rows = t.shape[row_dim];
  m.columns = t.shape[row_dim + 1];
  int64_t rows_step = t.strides[row_dim], columns_step = t.strides[row_dim + 1];
  auto fits = [](int64_t step, int64_t size) {
    return step >= size && step < (int64_t{1} << 31);
  };
  if ((columns_step == 1 || m.columns == 1) &&
      (m.rows == 1 || fits(rows_step, m.columns))) {
    m.order = 'N';
    m.leading = static_cast<int>(m.rows == 1 ? std::max<int64_t>(m.columns, 1)
                                             : rows_step);
    return true;
  }
  if ((rows_step == 1 || m.rows == 1) &&
      (m.columns == 1 || fits(columns_step, m.rows))) {
    m.order = 'T';
    m.leading = static_cast<int>(m.columns == 1 ? std::max<int64_t>(m.rows, 1)
                                                : columns_step);
    return true;
  }
  return false;
}

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

// Entries of a dimension of the batch lie so many elements apart.
struct BatchDim {
  int64_t size = 1, step_a = 0, step_b = 0;
};

// One product per batch entry; y is row-major, entry after entry.
struct Product {
  Matrix a, b;
  std::byte* y = nullptr;
  const std::byte* bias = nullptr;  // [N] per entry, or none
  int64_t batch = 1;
  std::vector<BatchDim> dims;  // of the batch, outermost first; may be none

  int64_t step_y() const { return a.rows * b.columns; }

  // Adds a dimension inside those before, as one with the last where memory
  // allows.
  void add_dim(BatchDim dim) {
    batch *= dim.size;
    if (!dims.empty() && dims.back().step_a == dim.size * dim.step_a &&
        dims.back().step_b == dim.size * dim.step_b) {
      dim.size *= dims.back().size;
      dims.pop_back();
    }
    dims.push_back(dim);
  }

  // Where entry i begins in a and b.
  BatchDim entry(int64_t i) const {
    BatchDim at;
    for (size_t d = dims.size(); d-- > 0;) {
      int64_t index = d == 0 ? i : i % dims[d].size;
      at.step_a += index * dims[d].step_a;
      at.step_b += index * dims[d].step_b;
      if (d > 0) i /= dims[d].size;
    }
    return at;
  }
};

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

bool is_empty(const Product& p) {
  return p.a.rows == 0 || p.a.columns == 0 || p.b.columns == 0 || p.batch == 0;
}

// [..., C] as [rows, C], or as [B, rows, C], when memory allows.
bool flatten_rows(const Tensor& t, int64_t members, Tensor& flat) {
  flat = t;
  size_t lead = members > 0 ? 1 : 0;
  if (t.shape.size() < lead + 2) return t.shape.size() == lead + 2;
  size_t last = t.shape.size() - 1;
  int64_t rows = 1;
  for (size_t d = last; d-- > lead;) {
    bool gapless = d + 1 == last || t.shape[d] == 1 ||
                   t.strides[d] == t.strides[d + 1] * t.shape[d + 1];
    if (!gapless) return false;
    rows *= t.shape[d];
  }
  flat.shape.assign(t.shape.begin(), t.shape.begin() + static_cast<int>(lead));
  flat.strides.assign(t.strides.begin(),
                      t.strides.begin() + static_cast<int>(lead));
  flat.shape.insert(flat.shape.end(), {rows, t.shape[last]});
  flat.strides.insert(flat.strides.end(),
                      {t.strides[last - 1], t.strides[last]});
  return true;
}

Thunk prepare_linear(const Call& c, const Loops& loops, const Kernel& general) {
  int64_t members = c.members();
  size_t lead = members > 0 ? 1 : 0;
  Tensor x;
  Product p;
  if (!is_gemm_type(c.in(0)) || !flatten_rows(c.in(0), members, x) ||
      !make_matrix(x, lead, p.a)) {
    return general(c);
  }
  Tensor w = c.in(1);  // [O, I] read as [I, O]
  std::swap(w.shape[lead], w.shape[lead + 1]);
  std::swap(w.strides[lead], w.strides[lead + 1]);
  if (!make_matrix(w, lead, p.b) || is_empty(p)) return general(c);
  if (c.has(2) && !c.in(2).contiguous()) return general(c);
  p.y = c.out(0).data;
  p.bias = c.has(2) ? c.in(2).data : nullptr;
  if (members > 0) p.add_dim({members, x.strides[0], w.strides[0]});
  return make_run(p, x.dtype, loops);
}

// Operands of one rank; a batch dimension of 1 meets any other.
bool add_batch(const Tensor& a, const Tensor& b, Product& p) {
  for (size_t d = 0; d + 2 < a.shape.size(); ++d) {
    int64_t size = std::max(a.shape[d], b.shape[d]);
    auto step = [&](const Tensor& t) {
      return t.shape[d] == 1 ? 0 : t.strides[d];
    };
    if (size == 0) return false;
    p.add_dim({size, step(a), step(b)});
  }
  return true;
}

Thunk prepare_matmul(const Call& c, const Loops& loops, const Kernel& general) {
  size_t rank = c.in(0).shape.size();
  Product p;
  if (!is_gemm_type(c.in(0)) || c.in(1).shape.size() != rank ||
      !c.out(0).contiguous() || !make_matrix(c.in(0), rank - 2, p.a) ||
      !make_matrix(c.in(1), rank - 2, p.b) || !add_batch(c.in(0), c.in(1), p) ||
      is_empty(p)) {
    return general(c);
  }
  p.y = c.out(0).data;
  return make_run(p, c.in(0).dtype, loops);
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
