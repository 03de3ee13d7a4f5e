// Table rows out and in. Gradients are added in the order of the indices, so
// that the result is the same every time; members are shared out.
#include "braid/base/error.h"
#include "braid/runtime/kernels/cpu/cpu_kernels.h"
#include "braid/runtime/kernels/cpu/parallel_for.h"

namespace braid::runtime {
namespace {

// B members, V entries, D columns, R look-ups of a member.
struct Sizes {
  int64_t sets, entries, columns, rows;
};

Sizes sizes_of(const Call& c, const Tensor& table, const Tensor& indices) {
  int64_t sets = std::max<int64_t>(c.members(), 1);
  size_t rank = table.shape.size();
  return {sets, table.shape[rank - 2], table.shape[rank - 1],
          indices.numel() / sets};
}

void check_index(int64_t index, int64_t entries) {
  if (index < 0 || index >= entries) {
    fail_usage("[embedding] index {} is outside a table of {} entries", index,
               entries);
  }
}

template <class T>
void forward(const Call& c, const Sizes& s, const LoopsOf<T>&) {
  const T* table = c.in(0).as<T>();
  const auto* indices = c.in(1).as<int64_t>();
  T* y = c.out(0).as<T>();
  for (int64_t i = 0; i < s.sets * s.rows; ++i)
    check_index(indices[i], s.entries);
  parallel_for(s.sets * s.rows, 1 + 16384 / (s.columns + 1),
               [&](int64_t from, int64_t to) {
                 for (int64_t i = from; i < to; ++i) {
                   int64_t row = i / s.rows * s.entries + indices[i];
                   std::copy_n(table + row * s.columns, s.columns,
                               y + i * s.columns);
                 }
               });
}

template <class T>
void backward(const Call& c, const Sizes& s, const LoopsOf<T>& loops) {
  const T* dy = c.in(0).as<T>();
  const auto* indices = c.in(1).as<int64_t>();
  T* dw = c.out(0).as<T>();
  int64_t padding = c.attrs().integer("padding_idx");
  std::fill_n(dw, s.sets * s.entries * s.columns, T(0));
  parallel_for(s.sets, 1, [&](int64_t from, int64_t to) {
    for (int64_t i = from * s.rows; i < to * s.rows; ++i) {
      if (indices[i] == padding) continue;
      int64_t row = i / s.rows * s.entries + indices[i];
      T* sum = dw + row * s.columns;
      loops.add(sum, sum, dy + i * s.columns, s.columns);
    }
  });
}

bool is_plain(const Call& c, const Tensor& table, const Tensor& values) {
  return has_loops(table.dtype) && table.contiguous() && values.contiguous() &&
         c.in(1).contiguous() && c.in(1).numel() > 0;
}

}  // namespace

void add_cpu_embedding(KernelTable& table, const Loops& loops) {
  add_own(
      table, loops, "embedding",
      [](const Call& c) { return is_plain(c, c.in(0), c.out(0)); },
      [](const Call& c, const auto& l) -> Thunk {
        return [c, l, sizes = sizes_of(c, c.in(0), c.in(1))] {
          forward(c, sizes, l);
        };
      });
  add_own(
      table, loops, "embedding_backward",
      [](const Call& c) { return is_plain(c, c.out(0), c.in(0)); },
      [](const Call& c, const auto& l) -> Thunk {
        return [c, l, sizes = sizes_of(c, c.out(0), c.in(1))] {
          backward(c, sizes, l);
        };
      });
}

}  // namespace braid::runtime
