// One thread per random block of four elements.
#include "braid/base/rng.h"
#include "braid/runtime/kernels/cuda/cuda_kernels.h"
#include "braid/runtime/kernels/cuda/launch.cuh"

namespace braid::runtime::cuda {
namespace {

template <class T>
__global__ void dropout_kernel(Dropout<T> d) {
  int64_t member = blockIdx.y;
  int64_t block = blockIdx.x * int64_t{kThreads} + threadIdx.x;
  if (block * 4 >= d.count) return;
  DrawKey key = draw_key(static_cast<uint64_t>(d.seed[member]), d.rng_key,
                         static_cast<uint64_t>(d.step[member]),
                         static_cast<uint64_t>(*d.micro));
  double p = d.p[member];
  auto factor = static_cast<T>(p < 1 ? 1 / (1 - p) : 0);
  RandomBlock random =
      philox(key.key, static_cast<uint64_t>(block), key.moment);
  const T* x = d.x + member * d.count;
  T* y = d.y + member * d.count;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    int64_t at = block * 4 + i;
    if (at >= d.count) return;
    bool stays = unit_interval(random.word[i]) >= p;
    y[at] = stays ? x[at] * factor : T(0);
  }
}

}  // namespace

template <class T>
void launch_dropout(const Dropout<T>& d, cudaStream_t stream) {
  dropout_kernel<<<member_grid(d.members, d.count, 4), kThreads, 0, stream>>>(
      d);
}

template void launch_dropout(const Dropout<float>&, cudaStream_t);
template void launch_dropout(const Dropout<double>&, cudaStream_t);

}  // namespace braid::runtime::cuda
