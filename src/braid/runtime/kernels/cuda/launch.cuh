// Grids and reductions shared by the kernels.
#pragma once

#include <cstdint>

namespace braid::runtime::cuda {

inline constexpr int kThreads = 256;
inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xFFFFFFFF;

// Blocks for `count` items with kThreads * per_thread items each.
inline unsigned blocks_for(int64_t count, int64_t per_thread = 1) {
  int64_t per_block = kThreads * per_thread;
  return static_cast<unsigned>((count + per_block - 1) / per_block);
}

// x: blocks over the elements of a member; y: members.
inline dim3 member_grid(int64_t members, int64_t count, int64_t per_thread) {
  return {blocks_for(count, per_thread), static_cast<unsigned>(members), 1};
}

// Sum over the lanes of a warp, in every lane.
template <class T>
__device__ T warp_sum(T value) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, offset);
  }
  return value;
}

template <class T>
__device__ T warp_max(T value) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    value = max(value, __shfl_xor_sync(kAllLanes, value, offset));
  }
  return value;
}

// Sum over a block of kThreads, in thread 0. All threads must call it.
template <class T>
__device__ T block_sum(T value) {
  __shared__ T warps[kThreads / kWarp];
  value = warp_sum(value);
  __syncthreads();  // an earlier call may still be reading
  if (threadIdx.x % kWarp == 0) warps[threadIdx.x / kWarp] = value;
  __syncthreads();
  T sum = 0;
  if (threadIdx.x == 0) {
    for (T part : warps) sum += part;
  }
  return sum;
}

}  // namespace braid::runtime::cuda
