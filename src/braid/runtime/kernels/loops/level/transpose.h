// Transposes a small matrix in square blocks that fit the registers.
#pragma once

#include <utility>

#include "braid/runtime/kernels/loops/level/vector.h"

namespace braid::runtime::BRAID_LEVEL {

// Lane l of the two rows that come of rows a and b when their halves of
// 2 kStep lanes change places; lanes of b count from kSize.
template <int kSize, int kStep>
constexpr int upper_lane(int l) {
  return (l & kStep) ? kSize + l - kStep : l;
}

template <int kSize, int kStep>
constexpr int lower_lane(int l) {
  return (l & kStep) ? kSize + l : l + kStep;
}

template <int kSize, int kStep, class V, size_t... kLane>
BRAID_INLINE void swap_lanes(V& a, V& b, std::index_sequence<kLane...>) {
  V upper = __builtin_shufflevector(a, b, upper_lane<kSize, kStep>(kLane)...);
  b = __builtin_shufflevector(a, b, lower_lane<kSize, kStep>(kLane)...);
  a = upper;
}

// Blocks of 1, 2, 4, ... lanes change places across the diagonal.
template <int kSize, int kStep, class V>
BRAID_INLINE void swap_rows(V* rows) {
  for (int i = 0; i < kSize; ++i) {
    if (i & kStep) continue;
    swap_lanes<kSize, kStep>(rows[i], rows[i + kStep],
                             std::make_index_sequence<kSize>());
  }
  if constexpr (2 * kStep < kSize) swap_rows<kSize, 2 * kStep>(rows);
}

template <class T, int kSize>
BRAID_INLINE void transpose_block(T* to, int64_t to_step, const T* from,
                                  int64_t from_step) {
  using V = Vector<T, kSize>;
  V rows[kSize];
  for (int i = 0; i < kSize; ++i) {
    std::memcpy(&rows[i], from + i * from_step, sizeof(V));
  }
  swap_rows<kSize, 1>(rows);
  for (int i = 0; i < kSize; ++i) {
    std::memcpy(to + i * to_step, &rows[i], sizeof(V));
  }
}

// Rows [row, rows) in blocks of kSize and smaller.
template <class T, int kSize>
BRAID_INLINE void transpose_rows(T* to, int64_t to_step, const T* from,
                                 int64_t from_step, int64_t row, int64_t rows,
                                 int64_t columns) {
  for (; row + kSize <= rows; row += kSize) {
    int64_t c = 0;
    if constexpr (kSize > 1) {
      for (; c + kSize <= columns; c += kSize) {
        transpose_block<T, kSize>(to + c * to_step + row, to_step,
                                  from + row * from_step + c, from_step);
      }
    }
    for (; c < columns; ++c) {
      for (int i = 0; i < kSize; ++i) {
        to[c * to_step + row + i] = from[(row + i) * from_step + c];
      }
    }
  }
  if constexpr (kSize > 1) {
    transpose_rows<T, kSize / 2>(to, to_step, from, from_step, row, rows,
                                 columns);
  }
}

// to[C, R] = from[R, C]; rows of both lie their steps apart.
template <class T>
BRAID_INLINE void transpose(T* to, int64_t to_step, const T* from,
                            int64_t from_step, int64_t rows, int64_t columns) {
  // AVX2 moves lanes across halves of a register slowly.
  constexpr int kBytes = kVectorBytes == 64 ? 32 : 16;
  transpose_rows<T, kBytes / sizeof(T)>(to, to_step, from, from_step, 0, rows,
                                        columns);
}

}  // namespace braid::runtime::BRAID_LEVEL
