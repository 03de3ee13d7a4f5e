// One thread per random block of four elements.
#include "braid/base/rng.h"
#include "braid/runtime/kernels/cuda/cuda_kernels.h"
#include "braid/runtime/kernels/cuda/items.cuh"
#include "braid/runtime/kernels/cuda/launch.cuh"

namespace braid::runtime::cuda {
namespace {

constexpr int kWords = 4;  // of a random block

template <class X, bool kPacked>
__global__ void dropout_kernel(Dropout d) {
  int64_t member = blockIdx.y;
  int64_t block = blockIdx.x * int64_t{kThreads} + threadIdx.x;
  int64_t begin = block * kWords;
  if (begin >= d.count) return;
  DrawKey key = draw_key(static_cast<uint64_t>(d.seed[member]), d.rng_key,
                         static_cast<uint64_t>(d.step[member]),
                         static_cast<uint64_t>(*d.micro));
  double p = d.p[member];
  using T = decltype(wide(X()));
  auto factor = static_cast<T>(p < 1 ? 1 / (1 - p) : 0);
  RandomBlock random =
      philox(key.key, static_cast<uint64_t>(block), key.moment);
  const X* x = static_cast<const X*>(d.x) + member * d.count + begin;
  X* y = static_cast<X*>(d.y) + member * d.count + begin;
  auto kept = [&](X value, int i) {
    bool stays = unit_interval(random.word[i]) >= p;
    X result;
    put(result, stays ? wide(value) * factor : T(0));
    return result;
  };
  using Packed = Items<X, kWords>;
  if constexpr (kPacked) {
    Packed pack = *reinterpret_cast<const Packed*>(x);
#pragma unroll
    for (int i = 0; i < kWords; ++i) pack.at[i] = kept(pack.at[i], i);
    *reinterpret_cast<Packed*>(y) = pack;
  } else {
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      if (begin + i < d.count) y[i] = kept(x[i], i);
    }
  }
}

template <class X>
bool fits_packs(const Dropout& d) {
  auto is_even = [](const void* data) {
    return reinterpret_cast<uintptr_t>(data) % (sizeof(X) * kWords) == 0;
  };
  return d.count % kWords == 0 && is_even(d.x) && is_even(d.y) &&
         sizeof(X) * kWords <= 16;
}

}  // namespace

void launch_dropout(const Dropout& d, cudaStream_t stream) {
  dim3 grid = member_grid(d.members, d.count, kWords);
  with_item(d.item, [&]<class X>() {
    if (fits_packs<X>(d)) {
      dropout_kernel<X, sizeof(X) * kWords <= 16>
          <<<grid, kThreads, 0, stream>>>(d);
    } else {
      dropout_kernel<X, false><<<grid, kThreads, 0, stream>>>(d);
    }
  });
}

}  // namespace braid::runtime::cuda
