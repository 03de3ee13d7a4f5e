// Cross entropy: a warp per row, or a block where there are many classes, finds
// logsumexp and the row's loss; a block per member adds the rows up in a fixed
// order.
#include "braid/runtime/kernels/cuda/cuda_kernels.h"
#include "braid/runtime/kernels/cuda/items.cuh"
#include "braid/runtime/kernels/cuda/launch.cuh"

namespace braid::runtime::cuda {
namespace {

constexpr int64_t kManyClasses = 1024;

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
__device__ T row_loss(const CrossEntropy<T>& c, T logit, int64_t row, T total,
                      T sum) {
  if (!is_class(c.target[row], c.classes)) return static_cast<T>(NAN);
  T loss = total - logit;
  T smoothing = smoothing_at<T>(c, row);
  if (smoothing == 0) return loss;
  T mean = sum / static_cast<T>(c.classes);
  return loss * (1 - smoothing) + (total - mean) * smoothing;
}

// Those who work on one row: a warp, or all of a block.
template <int kTeam>
struct Team {
  static constexpr int kWarps = kTeam / kWarp;

  template <class T, class Join>
  static __device__ T all(T value, T* shared, Join join) {
    if constexpr (kWarps > 1) {
      __syncthreads();  // an earlier call may still be reading
      if (threadIdx.x % kWarp == 0) shared[threadIdx.x / kWarp] = value;
      __syncthreads();
      value = shared[0];
      for (int i = 1; i < kWarps; ++i) value = join(value, shared[i]);
    }
    return value;
  }
  template <class T>
  static __device__ T sum(T value, T* shared) {
    return all(warp_sum(value), shared, [](T a, T b) { return a + b; });
  }
  template <class T>
  static __device__ T most(T value, T* shared) {
    return all(warp_max(value), shared, [](T a, T b) { return max(a, b); });
  }
};

template <class T, class X, int kTeam, int kWidth>
__global__ void __launch_bounds__(kThreads) row_kernel(CrossEntropy<T> c) {
  using Mine = Team<kTeam>;
  __shared__ T shared[kThreads / kWarp];
  constexpr int kRows = kThreads / kTeam;
  int64_t row = blockIdx.x * int64_t{kRows} + threadIdx.x / kTeam;
  if (row >= c.members * c.rows) return;
  int place = threadIdx.x % kTeam;
  const X* logits = static_cast<const X*>(c.logits) + row * c.classes;
  using Packed = Items<X, kWidth>;
  auto each = [&](auto visit) {
    for (int64_t i = int64_t{place} * kWidth; i < c.classes;
         i += int64_t{kTeam} * kWidth) {
      Packed pack = *reinterpret_cast<const Packed*>(logits + i);
#pragma unroll
      for (int k = 0; k < kWidth; ++k) visit(static_cast<T>(wide(pack.at[k])));
    }
  };
  T most = -static_cast<T>(INFINITY), sum = 0, exps = 0;
  each([&](T x) {
    most = max(most, x);
    sum += x;
  });
  most = Mine::most(most, shared);
  sum = Mine::sum(sum, shared);
  // NaN passes max unseen, but not the sum; infinite logits make NaN, as on
  // the CPU.
  each([&](T x) { exps += exp(x - most); });
  T total = log(Mine::sum(exps, shared)) + most;
  if (place != 0) return;
  int64_t target = c.target[row];
  T logit = is_class(target, c.classes) ? static_cast<T>(wide(logits[target]))
                                        : static_cast<T>(0);
  c.total[row] = total;
  c.row_loss[row] = row_loss(c, logit, row, total, sum);
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

// A pack of one row per thread.
template <class T, class X, int kWidth>
__global__ void __launch_bounds__(kThreads)
    backward_kernel(CrossEntropyBackward<T> c, int64_t packs) {
  int64_t number = blockIdx.x * int64_t{kThreads} + threadIdx.x;
  if (number >= packs) return;
  int64_t per_row = c.classes / kWidth;
  int64_t row = number / per_row, column = (number - row * per_row) * kWidth;
  int64_t target = c.target[row], member = row / c.rows;
  using Packed = Items<X, kWidth>;
  int64_t at = row * c.classes + column;
  Packed pack =
      *reinterpret_cast<const Packed*>(static_cast<const X*>(c.logits) + at);
  T total = c.total[row], smoothing = smoothing_at<T>(c, row);
  T even = smoothing / static_cast<T>(c.classes);
  T factor = c.dy[member] / c.number[member];
  bool counts = target != c.ignored, known = is_class(target, c.classes);
#pragma unroll
  for (int k = 0; k < kWidth; ++k) {
    T gradient = exp(static_cast<T>(wide(pack.at[k])) - total) - even;
    if (column + k == target) gradient -= 1 - smoothing;
    if (!known) gradient = static_cast<T>(NAN);
    put(pack.at[k], counts ? gradient * factor : static_cast<T>(0));
  }
  *reinterpret_cast<Packed*>(static_cast<X*>(c.dx) + at) = pack;
}

template <class T, class X, int kTeam, int kWidth>
void launch_rows(const CrossEntropy<T>& c, cudaStream_t stream) {
  constexpr int64_t kRows = kThreads / kTeam;
  int64_t blocks = (c.members * c.rows + kRows - 1) / kRows;
  row_kernel<T, X, kTeam, kWidth>
      <<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(c);
}

// Types whose computation is in T.
template <class T, class X>
constexpr bool kFits = std::is_same_v<T, double> == std::is_same_v<X, double>;

}  // namespace

template <class T>
void launch_cross_entropy(const CrossEntropy<T>& c, cudaStream_t stream) {
  with_item(c.item, [&]<class X>() {
    if constexpr (kFits<T, X>) {
      bool many = c.classes >= kManyClasses;
      if (many && fits_items<X>(c.logits, c.classes)) {
        launch_rows<T, X, kThreads, kItemsWidth<X>>(c, stream);
      } else if (many) {
        launch_rows<T, X, kThreads, 1>(c, stream);
      } else {
        launch_rows<T, X, kWarp, 1>(c, stream);
      }
    }
  });
  mean_kernel<<<static_cast<unsigned>(c.members), kThreads, 0, stream>>>(c);
}

template <class T>
void launch_cross_entropy_backward(const CrossEntropyBackward<T>& c,
                                   cudaStream_t stream) {
  int64_t count = c.members * c.rows * c.classes;
  with_item(c.item, [&]<class X>() {
    if constexpr (kFits<T, X>) {
      constexpr int kWidth = kItemsWidth<X>;
      if (fits_items<X>(c.logits, c.classes) &&
          fits_items<X>(c.dx, c.classes)) {
        int64_t packs = count / kWidth;
        backward_kernel<T, X, kWidth>
            <<<blocks_for(packs), kThreads, 0, stream>>>(c, packs);
      } else {
        backward_kernel<T, X, 1>
            <<<blocks_for(count), kThreads, 0, stream>>>(c, count);
      }
    }
  });
}

template void launch_cross_entropy(const CrossEntropy<float>&, cudaStream_t);
template void launch_cross_entropy(const CrossEntropy<double>&, cudaStream_t);
template void launch_cross_entropy_backward(const CrossEntropyBackward<float>&,
                                            cudaStream_t);
template void launch_cross_entropy_backward(const CrossEntropyBackward<double>&,
                                            cudaStream_t);

}  // namespace braid::runtime::cuda
