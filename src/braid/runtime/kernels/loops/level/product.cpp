// Products of small matrices: a tile of y stays in registers while k runs.
// Each element is summed over k in order, whatever tile it falls in, so an
// entry of a batch has the bits it would have alone.
#include "braid/runtime/kernels/loops/level/fused.h"
#include "braid/runtime/kernels/loops/level/level.h"
#include "braid/runtime/kernels/loops/level/transpose.h"

namespace braid::runtime::BRAID_LEVEL {
namespace {

// As many sums as there are registers for, with some to spare.
constexpr int kTileRows = kVectorBytes == 64 ? 8 : 4;

// Rows [row, row + kRows) and kVectors * kLanes columns from `column`.
template <class T, int kRows, int kVectors, int kLanes>
BRAID_INLINE void tile(const SmallProduct<T>& p, int64_t row, int64_t column) {
  using V = Vector<T, kLanes>;
  V sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      if (p.bias) {
        std::memcpy(&sums[r][v], p.bias + column + v * kLanes, sizeof(V));
      } else {
        sums[r][v] = V{};
      }
    }
  }
  const T *a = p.a + row * p.a_row, *b = p.b + column;
  for (int64_t k = 0; k < p.k; ++k, a += p.a_column, b += p.b_row) {
    V right[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      std::memcpy(&right[v], b + v * kLanes, sizeof(V));
    }
    for (int r = 0; r < kRows; ++r) {
      T left = a[r * p.a_row];
      for (int v = 0; v < kVectors; ++v) {
        sums[r][v] = fused<T, kLanes>(sums[r][v], left, right[v]);
      }
    }
  }
  T* y = p.y + row * p.n + column;
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      std::memcpy(y + r * p.n + v * kLanes, &sums[r][v], sizeof(V));
    }
  }
}

// All rows of a block of columns.
template <class T, int kVectors, int kLanes>
void columns(const SmallProduct<T>& p, int64_t column) {
  int64_t row = 0;
  for (; row + kTileRows <= p.m; row += kTileRows) {
    tile<T, kTileRows, kVectors, kLanes>(p, row, column);
  }
  for (; row + 2 <= p.m; row += 2) tile<T, 2, kVectors, kLanes>(p, row, column);
  if (row < p.m) tile<T, 1, kVectors, kLanes>(p, row, column);
}

// What is left of the columns, in ever narrower vectors.
template <class T, int kLanes>
BRAID_INLINE void narrow_columns(const SmallProduct<T>& p, int64_t column) {
  if (column + kLanes <= p.n) {
    columns<T, 1, kLanes>(p, column);
    column += kLanes;
  }
  if constexpr (kLanes > 1) narrow_columns<T, kLanes / 2>(p, column);
}

template <class T>
BRAID_INLINE void straight_product(const SmallProduct<T>& p) {
  constexpr int kLanes = kVectorBytes / sizeof(T);
  int64_t column = 0;
  for (; column + 2 * kLanes <= p.n; column += 2 * kLanes) {
    columns<T, 2, kLanes>(p, column);
  }
  narrow_columns<T, kLanes>(p, column);
}

template <class T>
void product(const SmallProduct<T>& p) {
  if (p.b_column == 1) return straight_product(p);
  alignas(64) T turned[kMaxTurned];
  transpose(turned, p.n, p.b, p.b_column, p.n, p.k);
  SmallProduct<T> straight = p;
  straight.b = turned;
  straight.b_row = p.n;
  straight.b_column = 1;
  straight_product(straight);
}

}  // namespace

template <class T>
void add_product(LoopsOf<T>& loops) {
  loops.product = product<T>;
}

template void add_product(LoopsOf<float>& loops);
template void add_product(LoopsOf<double>& loops);

}  // namespace braid::runtime::BRAID_LEVEL
