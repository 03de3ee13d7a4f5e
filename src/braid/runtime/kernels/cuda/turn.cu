// Images from rows to channels that lie last, or back, and cast on the way. A
// block turns one tile in shared memory, so that both sides are read and
// written in the order in which they lie.
#include "braid/runtime/kernels/cuda/cuda_kernels.h"
#include "braid/runtime/kernels/cuda/items.cuh"
#include "braid/runtime/kernels/cuda/launch.cuh"

namespace braid::runtime::cuda {
namespace {

constexpr int kSide = 32;
constexpr int kTile = kSide * kSide;  // elements, at most

// Tiles of so many rows and columns of [rows, columns], turned round.
struct Tiling {
  int64_t rows, columns;
  int tile_rows, tile_columns;
  int64_t along_rows, along_columns;  // tiles
};

Tiling tiling_of(int64_t rows, int64_t columns) {
  Tiling t{rows, columns, kSide, kSide, 0, 0};
  if (columns <= kSide) {
    t.tile_columns = static_cast<int>(columns);
    t.tile_rows = kTile / t.tile_columns;
  } else if (rows <= kSide) {
    t.tile_rows = static_cast<int>(rows);
    t.tile_columns = kTile / t.tile_rows;
  }
  if (t.tile_rows > rows) t.tile_rows = static_cast<int>(rows);
  if (t.tile_columns > columns) t.tile_columns = static_cast<int>(columns);
  t.along_rows = (rows + t.tile_rows - 1) / t.tile_rows;
  t.along_columns = (columns + t.tile_columns - 1) / t.tile_columns;
  return t;
}

// y[images, columns, rows] of x[images, rows, columns].
template <class Y, class X>
__global__ void __launch_bounds__(kThreads)
    turn_kernel(Y* y, const X* x, Tiling t) {
  __shared__ float tile[kTile + kTile];  // with an odd pitch
  int64_t number = blockIdx.x;
  int64_t column = number % t.along_columns * t.tile_columns;
  number /= t.along_columns;
  int64_t row = number % t.along_rows * t.tile_rows;
  int64_t image = number / t.along_rows * t.rows * t.columns;
  int64_t rows_left = t.rows - row, columns_left = t.columns - column;
  int rows = static_cast<int>(min(rows_left, int64_t{t.tile_rows}));
  int columns = static_cast<int>(min(columns_left, int64_t{t.tile_columns}));
  int pitch = columns | 1, count = rows * columns;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) {
    int r = i / columns, c = i % columns;
    tile[r * pitch + c] = wide(x[image + (row + r) * t.columns + column + c]);
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) {
    int c = i / rows, r = i % rows;
    put(y[image + (column + c) * t.rows + row + r], tile[r * pitch + c]);
  }
}

template <class Y, class X>
void launch_pair(const Turn& turn, cudaStream_t stream) {
  Tiling t = turn.to_last ? tiling_of(turn.channels, turn.places)
                          : tiling_of(turn.places, turn.channels);
  auto blocks =
      static_cast<unsigned>(turn.images * t.along_rows * t.along_columns);
  turn_kernel<<<blocks, kThreads, 0, stream>>>(
      static_cast<Y*>(turn.y), static_cast<const X*>(turn.x), t);
}

template <class Y>
void launch_to(const Turn& turn, cudaStream_t stream) {
  switch (turn.from) {
    case Item::kBFloat16: return launch_pair<Y, __nv_bfloat16>(turn, stream);
    case Item::kFloat16: return launch_pair<Y, __half>(turn, stream);
    default: return launch_pair<Y, float>(turn, stream);
  }
}

}  // namespace

void launch_turn(const Turn& turn, cudaStream_t stream) {
  switch (turn.to) {
    case Item::kBFloat16: return launch_to<__nv_bfloat16>(turn, stream);
    case Item::kFloat16: return launch_to<__half>(turn, stream);
    default: return launch_to<float>(turn, stream);
  }
}

}  // namespace braid::runtime::cuda
