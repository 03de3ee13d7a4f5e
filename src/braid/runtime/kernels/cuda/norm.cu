// Layer normalisation backward. Columns first (dw and db), in chunks of rows
// that a second stage adds up; then a warp per row for dx, which may lie in
// dy.
#include "braid/runtime/kernels/cuda/cuda_kernels.h"
#include "braid/runtime/kernels/cuda/launch.cuh"

namespace braid::runtime::cuda {
namespace {

constexpr int kRowsPerBlock = kThreads / kWarp;
constexpr int64_t kChunkRows = 256;
constexpr int64_t kMaxChunks = 64;

// dw and db of a tile of 32 columns over one chunk of rows of one member.
template <class T>
__global__ void column_kernel(LayerNormBackward<T> n, T* dw, T* db,
                              int64_t chunk_rows) {
  __shared__ T w_part[kRowsPerBlock][kWarp], b_part[kRowsPerBlock][kWarp];
  int64_t column = blockIdx.x * int64_t{kWarp} + threadIdx.x;
  int64_t begin = blockIdx.y * chunk_rows;
  int64_t end = min(begin + chunk_rows, n.rows);
  T w_sum = 0, b_sum = 0;
  if (column < n.columns) {
    for (int64_t r = begin + threadIdx.y; r < end; r += kRowsPerBlock) {
      int64_t row = blockIdx.z * n.rows + r, i = row * n.columns + column;
      w_sum += n.dy[i] * ((n.x[i] - n.mean[row]) * n.rstd[row]);
      b_sum += n.dy[i];
    }
  }
  w_part[threadIdx.y][threadIdx.x] = w_sum;
  b_part[threadIdx.y][threadIdx.x] = b_sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= n.columns) return;
  for (int k = 1; k < kRowsPerBlock; ++k) {
    w_sum += w_part[k][threadIdx.x];
    b_sum += b_part[k][threadIdx.x];
  }
  int64_t at =
      (blockIdx.y * int64_t{gridDim.z} + blockIdx.z) * n.columns + column;
  dw[at] = w_sum;
  db[at] = b_sum;
}

// to[count] = sum over chunks of from[chunks, count]
template <class T>
__global__ void add_chunks_kernel(T* to, const T* from, int64_t chunks,
                                  int64_t count) {
  int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x;
  if (i >= count) return;
  T sum = 0;
  for (int64_t k = 0; k < chunks; ++k) sum += from[k * count + i];
  to[i] = sum;
}

template <class T>
__global__ void row_kernel(LayerNormBackward<T> n) {
  int64_t row = blockIdx.x * int64_t{kRowsPerBlock} + threadIdx.x / kWarp;
  if (row >= n.members * n.rows) return;
  int lane = threadIdx.x % kWarp;
  const T* w = n.w ? n.w + row / n.rows * n.columns : nullptr;
  const T *dy = n.dy + row * n.columns, *x = n.x + row * n.columns;
  T mean = n.mean[row], rstd = n.rstd[row];
  T sum = 0, inner = 0;
  for (int64_t i = lane; i < n.columns; i += kWarp) {
    T g = w ? dy[i] * w[i] : dy[i];
    sum += g;
    inner += g * ((x[i] - mean) * rstd);
  }
  T per_column = T(1) / static_cast<T>(n.columns);
  sum = warp_sum(sum) * per_column;
  inner = warp_sum(inner) * per_column;
  for (int64_t i = lane; i < n.columns; i += kWarp) {
    T g = w ? dy[i] * w[i] : dy[i];
    T normal = (x[i] - mean) * rstd;
    n.dx[row * n.columns + i] = (g - sum - normal * inner) * rstd;
  }
}

template <class T>
void launch_columns(const LayerNormBackward<T>& n, cudaStream_t stream) {
  int64_t chunks = layer_norm_chunks(n.rows);
  int64_t count = n.members * n.columns;
  dim3 grid(static_cast<unsigned>((n.columns + kWarp - 1) / kWarp),
            static_cast<unsigned>(chunks), static_cast<unsigned>(n.members));
  T* dw = chunks == 1 ? n.dw : n.partial;
  T* db = chunks == 1 ? n.db : n.partial + chunks * count;
  column_kernel<<<grid, dim3(kWarp, kRowsPerBlock), 0, stream>>>(
      n, dw, db, (n.rows + chunks - 1) / chunks);
  if (chunks == 1) return;
  add_chunks_kernel<<<blocks_for(count), kThreads, 0, stream>>>(n.dw, dw,
                                                                chunks, count);
  add_chunks_kernel<<<blocks_for(count), kThreads, 0, stream>>>(n.db, db,
                                                                chunks, count);
}

}  // namespace

int64_t layer_norm_chunks(int64_t rows) {
  int64_t chunks = (rows + kChunkRows - 1) / kChunkRows;
  return chunks < kMaxChunks ? chunks : kMaxChunks;
}

template <class T>
void launch_layer_norm_backward(const LayerNormBackward<T>& n,
                                cudaStream_t stream) {
  launch_columns(n, stream);
  auto rows = static_cast<unsigned>((n.members * n.rows + kRowsPerBlock - 1) /
                                    kRowsPerBlock);
  row_kernel<<<rows, kThreads, 0, stream>>>(n);
}

template void launch_layer_norm_backward(const LayerNormBackward<float>&,
                                         cudaStream_t);
template void launch_layer_norm_backward(const LayerNormBackward<double>&,
                                         cudaStream_t);

}  // namespace braid::runtime::cuda
