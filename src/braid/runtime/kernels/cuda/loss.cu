// Cross entropy: a warp per row finds logsumexp and the row's loss, a block
// per member adds the rows up in a fixed order.
#include "braid/runtime/kernels/cuda/cuda_kernels.h"
#include "braid/runtime/kernels/cuda/launch.cuh"

namespace braid::runtime::cuda {
namespace {

constexpr int kRowsPerBlock = kThreads / kWarp;

__device__ bool is_class(int64_t target, int64_t classes) {
  return target >= 0 && target < classes;
}

// Of the member that a row belongs to; `c` of either pass.
template <class T, class Pass>
__device__ T smoothing_at(const Pass& c, int64_t row) {
  return c.smoothings ? static_cast<T>(c.smoothings[row / c.rows])
                      : c.smoothing;
}

template <class T>
__device__ T row_loss(const CrossEntropy<T>& c, const T* logits, int64_t row,
                      T total, T sum) {
  int64_t target = c.target[row];
  if (!is_class(target, c.classes)) return static_cast<T>(NAN);
  T loss = total - logits[target];
  T smoothing = smoothing_at<T>(c, row);
  if (smoothing == 0) return loss;
  T mean = sum / static_cast<T>(c.classes);
  return loss * (1 - smoothing) + (total - mean) * smoothing;
}

template <class T>
__global__ void row_kernel(CrossEntropy<T> c) {
  int64_t row = blockIdx.x * int64_t{kRowsPerBlock} + threadIdx.x / kWarp;
  if (row >= c.members * c.rows) return;
  int lane = threadIdx.x % kWarp;
  const T* logits = c.logits + row * c.classes;
  T most = -static_cast<T>(INFINITY), sum = 0, exps = 0;
  for (int64_t i = lane; i < c.classes; i += kWarp) {
    most = max(most, logits[i]);
    sum += logits[i];
  }
  most = warp_max(most);
  sum = warp_sum(sum);
  // NaN passes max unseen, but not the sum; infinite logits make NaN, as on
  // the CPU.
  for (int64_t i = lane; i < c.classes; i += kWarp) {
    exps += exp(logits[i] - most);
  }
  T total = log(warp_sum(exps)) + most;
  if (lane != 0) return;
  c.total[row] = total;
  c.row_loss[row] = row_loss(c, logits, row, total, sum);
}

template <class T>
__global__ void mean_kernel(CrossEntropy<T> c) {
  int64_t base = blockIdx.x * c.rows;
  double sum = 0, number = 0;
  for (int64_t i = threadIdx.x; i < c.rows; i += kThreads) {
    if (c.target[base + i] == c.ignored) continue;
    sum += static_cast<double>(c.row_loss[base + i]);
    number += 1;
  }
  sum = block_sum(sum);
  number = block_sum(number);
  if (threadIdx.x != 0) return;
  c.loss[blockIdx.x] = static_cast<T>(sum / number);
  c.number[blockIdx.x] = static_cast<T>(number);
}

template <class T>
__global__ void backward_kernel(CrossEntropyBackward<T> c, int64_t count) {
  int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x;
  if (i >= count) return;
  int64_t row = i / c.classes, column = i - row * c.classes;
  int64_t target = c.target[row], member = row / c.rows;
  if (target == c.ignored) {
    c.dx[i] = 0;
    return;
  }
  T smoothing = smoothing_at<T>(c, row);
  T gradient =
      exp(c.logits[i] - c.total[row]) - smoothing / static_cast<T>(c.classes);
  if (column == target) gradient -= 1 - smoothing;
  if (!is_class(target, c.classes)) gradient = static_cast<T>(NAN);
  c.dx[i] = gradient * (c.dy[member] / c.number[member]);
}

}  // namespace

template <class T>
void launch_cross_entropy(const CrossEntropy<T>& c, cudaStream_t stream) {
  auto rows = static_cast<unsigned>((c.members * c.rows + kRowsPerBlock - 1) /
                                    kRowsPerBlock);
  row_kernel<<<rows, kThreads, 0, stream>>>(c);
  mean_kernel<<<static_cast<unsigned>(c.members), kThreads, 0, stream>>>(c);
}

template <class T>
void launch_cross_entropy_backward(const CrossEntropyBackward<T>& c,
                                   cudaStream_t stream) {
  int64_t count = c.members * c.rows * c.classes;
  backward_kernel<<<blocks_for(count), kThreads, 0, stream>>>(c, count);
}

template void launch_cross_entropy(const CrossEntropy<float>&, cudaStream_t);
template void launch_cross_entropy(const CrossEntropy<double>&, cudaStream_t);
template void launch_cross_entropy_backward(const CrossEntropyBackward<float>&,
                                            cudaStream_t);
template void launch_cross_entropy_backward(const CrossEntropyBackward<double>&,
                                            cudaStream_t);

}  // namespace braid::runtime::cuda
