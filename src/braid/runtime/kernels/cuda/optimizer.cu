// Updates of one parameter of all members in one launch. A block works on one
// member, so its hyper-parameters are read and prepared once per block. The
// formulas are those of kernels/cpu/optimizer.cpp.
#include "braid/runtime/kernels/cuda/cuda_kernels.h"
#include "braid/runtime/kernels/cuda/launch.cuh"

namespace braid::runtime::cuda {
namespace {

constexpr int64_t kPerThread = 4;

template <class T>
__device__ T value_or_one(const double* values, int64_t member) {
  return values ? static_cast<T>(values[member]) : T(1);
}

__device__ bool is_kept(const double* keep, int64_t member) {
  return !keep || keep[member] != 0;
}

template <class T>
struct SgdValues {
  T rate, momentum, add, decay, scale;
  bool first, uses_buffer, keep;
};

template <class T>
__device__ SgdValues<T> sgd_values(const Sgd<T>& s, int64_t b) {
  return {.rate = static_cast<T>(s.lr[b]),
          .momentum = static_cast<T>(s.momentum[b]),
          .add = static_cast<T>(1 - s.dampening[b]),
          .decay = static_cast<T>(s.weight_decay[b]),
          .scale = value_or_one<T>(s.scale, b),
          .first = s.step[b] == 0,
          .uses_buffer = s.buffer && s.momentum[b] != 0,
          .keep = is_kept(s.keep, b)};
}

template <class T>
__device__ void sgd_element(const Sgd<T>& s, const SgdValues<T>& h, int64_t i) {
  T p = s.p[i];
  T g = s.gradient[i] * h.scale + p * h.decay;
  T step = g;
  if (s.buffer) {
    T before = s.buffer[i];
    T buffer = h.first ? g : before * h.momentum + g * h.add;
    if (h.uses_buffer) step = s.nesterov ? g + buffer * h.momentum : buffer;
    s.buffer_out[i] = h.keep ? buffer : before;
  }
  s.p_out[i] = h.keep ? p - step * h.rate : p;
}

template <class T>
__global__ void sgd_kernel(Sgd<T> s) {
  __shared__ SgdValues<T> h;
  if (threadIdx.x == 0) h = sgd_values(s, blockIdx.y);
  __syncthreads();
  int64_t stride = int64_t{gridDim.x} * kThreads;
  int64_t base = blockIdx.y * s.count;
  for (int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x; i < s.count;
       i += stride) {
    sgd_element(s, h, base + i);
  }
}

template <class T>
struct AdamwValues {
  T decay, add1, keep2, add2, rate, correction2, eps, scale;
  bool keep;
};

template <class T>
__device__ AdamwValues<T> adamw_values(const Adamw<T>& a, int64_t b) {
  double step = static_cast<double>(a.step[b]) + 1;
  double lr = a.lr[b], beta1 = a.beta1[b], beta2 = a.beta2[b];
  return {.decay = static_cast<T>(1 - lr * a.weight_decay[b]),
          .add1 = static_cast<T>(1 - beta1),
          .keep2 = static_cast<T>(beta2),
          .add2 = static_cast<T>(1 - beta2),
          .rate = static_cast<T>(lr / (1 - pow(beta1, step))),
          .correction2 = static_cast<T>(1 / sqrt(1 - pow(beta2, step))),
          .eps = static_cast<T>(a.eps[b]),
          .scale = value_or_one<T>(a.scale, b),
          .keep = is_kept(a.keep, b)};
}

template <class T>
__device__ void adamw_element(const Adamw<T>& a, const AdamwValues<T>& h,
                              int64_t i) {
  T p = a.p[i], m0 = a.m[i], v0 = a.v[i];
  T g = a.gradient[i] * h.scale;
  T m = m0 + (g - m0) * h.add1;
  T v = v0 * h.keep2 + g * g * h.add2;
  T next = p * h.decay - h.rate * (m / (sqrt(v) * h.correction2 + h.eps));
  a.m_out[i] = h.keep ? m : m0;
  a.v_out[i] = h.keep ? v : v0;
  a.p_out[i] = h.keep ? next : p;
}

template <class T>
__global__ void adamw_kernel(Adamw<T> a) {
  __shared__ AdamwValues<T> h;
  if (threadIdx.x == 0) h = adamw_values(a, blockIdx.y);
  __syncthreads();
  int64_t stride = int64_t{gridDim.x} * kThreads;
  int64_t base = blockIdx.y * a.count;
  for (int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x; i < a.count;
       i += stride) {
    adamw_element(a, h, base + i);
  }
}

}  // namespace

template <class T>
void launch_sgd(const Sgd<T>& s, cudaStream_t stream) {
  sgd_kernel<<<member_grid(s.members, s.count, kPerThread), kThreads, 0,
               stream>>>(s);
}

template <class T>
void launch_adamw(const Adamw<T>& a, cudaStream_t stream) {
  adamw_kernel<<<member_grid(a.members, a.count, kPerThread), kThreads, 0,
                 stream>>>(a);
}

template void launch_sgd(const Sgd<float>&, cudaStream_t);
template void launch_sgd(const Sgd<double>&, cudaStream_t);
template void launch_adamw(const Adamw<float>&, cudaStream_t);
template void launch_adamw(const Adamw<double>&, cudaStream_t);

}  // namespace braid::runtime::cuda
