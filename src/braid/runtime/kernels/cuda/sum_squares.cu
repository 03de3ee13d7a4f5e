// Two stages without atomics: the order of the sum never changes.
#include "braid/runtime/kernels/cuda/cuda_kernels.h"
#include "braid/runtime/kernels/cuda/launch.cuh"

namespace braid::runtime::cuda {
namespace {

constexpr int64_t kPerThread = 16;
constexpr int64_t kMaxBlocks = 1024;

// sums[B, blocks] of x[B, count]
template <class T>
__global__ void square_kernel(double* sums, const T* x, int64_t count) {
  int64_t stride = int64_t{gridDim.x} * kThreads;
  const T* mine = x + blockIdx.y * count;
  double sum = 0;
  for (int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x; i < count;
       i += stride) {
    auto value = static_cast<double>(mine[i]);
    sum += value * value;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) sums[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

// sum[B] of partial[B, count], a block per member
__global__ void add_kernel(double* sum, const double* partial, int64_t count) {
  double mine = 0;
  for (int64_t i = threadIdx.x; i < count; i += kThreads) {
    mine += partial[blockIdx.x * count + i];
  }
  mine = block_sum(mine);
  if (threadIdx.x == 0) sum[blockIdx.x] = mine;
}

}  // namespace

int64_t sum_squares_blocks(int64_t count) {
  int64_t blocks = blocks_for(count, kPerThread);
  return blocks < kMaxBlocks ? blocks : kMaxBlocks;
}

template <class T>
void launch_sum_squares(double* sum, double* partial, const T* x,
                        int64_t members, int64_t count, cudaStream_t stream) {
  int64_t blocks = sum_squares_blocks(count);
  dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(members));
  double* first = blocks == 1 ? sum : partial;
  square_kernel<<<grid, kThreads, 0, stream>>>(first, x, count);
  if (blocks == 1) return;
  add_kernel<<<static_cast<unsigned>(members), kThreads, 0, stream>>>(
      sum, partial, blocks);
}

template void launch_sum_squares(double*, double*, const float*, int64_t,
                                 int64_t, cudaStream_t);
template void launch_sum_squares(double*, double*, const double*, int64_t,
                                 int64_t, cudaStream_t);

}  // namespace braid::runtime::cuda
