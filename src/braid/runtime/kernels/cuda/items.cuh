// Elements of every type that kernels read, in packs, and what they are
// computed in: f64 for f64, else f32.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "braid/runtime/kernels/cuda/cuda_kernels.h"

namespace braid::runtime::cuda {

__device__ inline float wide(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ inline float wide(__half x) { return __half2float(x); }
__device__ inline float wide(float x) { return x; }
__device__ inline double wide(double x) { return x; }

__device__ inline void put(__nv_bfloat16& y, float x) {
  y = __float2bfloat16_rn(x);
}
__device__ inline void put(__half& y, float x) { y = __float2half_rn(x); }
__device__ inline void put(float& y, float x) { y = x; }
__device__ inline void put(double& y, double x) { y = x; }

// One access to memory.
template <class X, int kWidth>
struct alignas(sizeof(X) * kWidth) Items {
  X at[kWidth];
};

template <class X>
constexpr int kItemsWidth = 16 / sizeof(X);

// Whether packs of 16 bytes may begin at every `step` elements from there.
template <class X>
bool fits_items(const void* data, int64_t step) {
  return reinterpret_cast<uintptr_t>(data) % 16 == 0 &&
         step % kItemsWidth<X> == 0;
}

// Calls run.operator()<X>() for the type of an item.
template <class Run>
void with_item(Item item, const Run& run) {
  switch (item) {
    case Item::kBFloat16: return run.template operator()<__nv_bfloat16>();
    case Item::kFloat16: return run.template operator()<__half>();
    case Item::kFloat32: return run.template operator()<float>();
    case Item::kFloat64: return run.template operator()<double>();
  }
}

}  // namespace braid::runtime::cuda
