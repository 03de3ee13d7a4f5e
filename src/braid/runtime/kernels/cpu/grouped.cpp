// Products of rows in groups, one product per group and member: no tensor is
// made per call, and groups are shared out among threads.
// B members, E groups, S rows of all groups.
#include "braid/base/error.h"
#include "braid/runtime/kernels/cpu/cpu_kernels.h"
#include "braid/runtime/kernels/cpu/parallel_for.h"
#include "braid/runtime/kernels/cpu/product.h"
#include "braid/runtime/kernels/groups.h"

namespace braid::runtime {
namespace {

struct Grouped {
  Matrix a, b;  // of the first member; b also of the first group
  std::byte* y = nullptr;
  Tensor offsets;  // [E] or [B, E]
  int64_t members = 1, groups = 0, rows = 0;
  int64_t member_a = 0, member_b = 0, group_b = 0;  // steps in elements
  double flops = 0;                                 // of a group, on average

  int64_t count() const { return members * groups; }
};

// Elements from one row to the next.
int64_t row_step(const Matrix& m) { return m.order == 'N' ? m.leading : 1; }
int64_t column_step(const Matrix& m) { return m.order == 'N' ? 1 : m.leading; }

template <class T>
Matrix moved(Matrix m, int64_t elements) {
  m.data += elements * static_cast<int64_t>(sizeof(T));
  return m;
}

template <class T>
Matrix some_rows(const Matrix& m, GroupRange range) {
  Matrix part = moved<T>(m, range.begin * row_step(m));
  part.rows = range.size();
  return part;
}

template <class T>
Matrix some_columns(const Matrix& m, GroupRange range) {
  Matrix part = moved<T>(m, range.begin * column_step(m));
  part.columns = range.size();
  return part;
}

// y[S, N] = a[S, K] * b[E, K, N]
template <class T>
void multiply_rows(const Grouped& g, int64_t member, int64_t group,
                   GroupRange range, const LoopsOf<T>& loops) {
  T* y = reinterpret_cast<T*>(g.y) + member * g.rows * g.b.columns;
  T* from = y + range.begin * g.b.columns;
  if (group + 1 == g.groups) {  // rows of no group
    std::fill(y + range.end * g.b.columns, y + g.rows * g.b.columns, T(0));
  }
  if (range.size() == 0) return;
  if (g.a.columns == 0) {
    std::fill_n(from, range.size() * g.b.columns, T(0));
    return;
  }
  Matrix a = moved<T>(g.a, member * g.member_a);
  Matrix b = moved<T>(g.b, member * g.member_b + group * g.group_b);
  multiply(some_rows<T>(a, range), b, from, loops);
}

// y[E, M, N] = a[M, S] * b[S, N]
template <class T>
void contract_rows(const Grouped& g, int64_t member, int64_t group,
                   GroupRange range, const LoopsOf<T>& loops) {
  int64_t size = g.a.rows * g.b.columns;
  T* y = reinterpret_cast<T*>(g.y) + (member * g.groups + group) * size;
  if (range.size() == 0) {
    std::fill_n(y, size, T(0));
    return;
  }
  Matrix a = moved<T>(g.a, member * g.member_a);
  Matrix b = moved<T>(g.b, member * g.member_b);
  multiply(some_columns<T>(a, range), some_rows<T>(b, range), y, loops);
}

template <class T>
using GroupProduct = void (*)(const Grouped&, int64_t member, int64_t group,
                              GroupRange range, const LoopsOf<T>& loops);

// Large products use all threads, each in turn.
template <class T>
Thunk make_run(const Grouped& g, GroupProduct<T> product,
               const LoopsOf<T>& loops) {
  return [g, product, loops] {
    check_offsets(g.offsets, g.rows);
    auto part = [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) {
        int64_t member = i / g.groups, group = i % g.groups;
        product(g, member, group, group_range(g.offsets, member, group), loops);
      }
    };
    if (g.flops >= 4e6) return part(0, g.count());
    auto grain = static_cast<int64_t>(1e6 / std::max(g.flops, 1.0)) + 1;
    parallel_for(g.count(), grain, part);
  };
}

bool make_grouped(const Call& c, Grouped& g) {
  const Tensor &a = c.in(0), &b = c.in(1);
  size_t lead = c.members() > 0 ? 1 : 0;
  size_t b_matrix = b.shape.size() - 2;
  if (!has_loops(a.dtype) || !c.out(0).contiguous() ||
      !make_matrix(a, lead, g.a) || !make_matrix(b, b_matrix, g.b)) {
    return false;
  }
  g.y = c.out(0).data;
  g.offsets = c.in(2);
  g.groups = g.offsets.shape.back();
  if (lead > 0) {
    g.members = c.members();
    g.member_a = a.strides[0];
    g.member_b = b.strides[0];
  }
  if (b_matrix > lead) g.group_b = b.strides[lead];
  return c.out(0).numel() > 0 && g.groups > 0;
}

double average_flops(const Grouped& g) {
  return 2.0 * static_cast<double>(g.a.rows) *
         static_cast<double>(g.a.columns) * static_cast<double>(g.b.columns) /
         static_cast<double>(g.groups);
}

Thunk prepare(const Call& c, const Loops& loops, const Kernel& general,
              bool contracts) {
  Grouped g;
  if (!make_grouped(c, g)) return general(c);
  g.rows = contracts ? g.b.rows : g.a.rows;
  g.flops = average_flops(g);
  if (c.in(0).dtype == DType::kFloat64) {
    return make_run<double>(
        g, contracts ? contract_rows<double> : multiply_rows<double>,
        loops.f64);
  }
  return make_run<float>(
      g, contracts ? contract_rows<float> : multiply_rows<float>, loops.f32);
}

}  // namespace

void add_cpu_grouped(KernelTable& table, const Loops& loops) {
  for (bool contracts : {false, true}) {
    const char* op = contracts ? "grouped_mm_contract" : "grouped_mm";
    table.add(op, [=, general = table.at(op)](const Call& c) {
      return prepare(c, loops, general, contracts);
    });
  }
}

}  // namespace braid::runtime
