// Layer normalisation over the last dimension, with weights per member.
// B members, R rows of a member, C columns.
#include "braid/runtime/kernels/cpu/cpu_kernels.h"
#include "braid/runtime/kernels/cpu/parallel_for.h"

namespace braid::runtime {
namespace {

struct Sizes {
  int64_t sets, rows, columns;
};

Sizes sizes_of(const Call& c, const Tensor& x) {
  int64_t sets = std::max<int64_t>(c.members(), 1);
  int64_t columns = x.shape.back();
  return {sets, x.numel() / sets / columns, columns};
}

template <class T>
void forward(const Call& c, const Sizes& s, const LoopsOf<T>& loops) {
  const T* x = c.in(0).as<T>();
  const T* w = c.has(1) ? c.in(1).as<T>() : nullptr;
  const T* b = c.has(2) ? c.in(2).as<T>() : nullptr;
  T *y = c.out(0).as<T>(), *mean = c.out(1).as<T>(), *rstd = c.out(2).as<T>();
  double eps = c.attrs().number("eps");
  parallel_for(
      s.sets * s.rows, 1 + 16384 / s.columns, [&](int64_t from, int64_t to) {
        while (from < to) {  // rows of one member at a time
          int64_t set = from / s.rows, end = std::min(to, (set + 1) * s.rows);
          int64_t affine = set * s.columns, first = from * s.columns;
          loops.layer_norm(y + first, x + first, w ? w + affine : nullptr,
                           b ? b + affine : nullptr, end - from, s.columns, eps,
                           mean + from, rstd + from);
          from = end;
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
void backward(const Call& c, const Sizes& s, const LoopsOf<T>& loops) {
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
  parallel_for(s.sets * chunks, 1, [&](int64_t from, int64_t to) {
    for (int64_t k = from; k < to; ++k) {
      int64_t set = k / chunks, part = k % chunks;
      T* dw = sums + k * 2 * columns;
      int64_t begin = s.rows * part / chunks,
              end = s.rows * (part + 1) / chunks;
      int64_t row = set * s.rows + begin, first = row * columns;
      loops.layer_norm_backward(
          dx + first, dy + first, x + first, w ? w + set * columns : nullptr,
          mean + row, rstd + row, end - begin, columns, dw, dw + columns);
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

bool is_plain(const Call& c, const Tensor& x) {
  bool plain = x.numel() > 0 && has_loops(x.dtype);
  for (size_t i = 0; i < c.inputs.size() && plain; ++i) {
    plain = !c.has(i) || c.in(i).contiguous();
  }
  return plain;
}

}  // namespace

void add_cpu_norm(KernelTable& table, const Loops& loops) {
  add_own(
      table, loops, "layer_norm",
      [](const Call& c) { return is_plain(c, c.in(0)); },
      [](const Call& c, const auto& l) -> Thunk {
        return [c, l, sizes = sizes_of(c, c.in(0))] { forward(c, sizes, l); };
      });
  add_own(
      table, loops, "layer_norm_backward",
      [](const Call& c) { return is_plain(c, c.in(1)); },
      [](const Call& c, const auto& l) -> Thunk {
        return [c, l, sizes = sizes_of(c, c.in(1))] { backward(c, sizes, l); };
      });
}

}  // namespace braid::runtime
