// Small loops that other kernels are made of.
#include "braid/runtime/kernels/loops/level/level.h"

namespace braid::runtime::BRAID_LEVEL {
namespace {

template <class T>
void add(T* y, const T* a, const T* b, int64_t n) {
  BRAID_ELEMENTWISE
  for (int64_t i = 0; i < n; ++i) y[i] = a[i] + b[i];
}

template <class T>
void drop(T* y, const T* x, const uint32_t* words, uint32_t kept, T factor,
          int64_t n) {
  BRAID_ELEMENTWISE
  for (int64_t i = 0; i < n; ++i) {
    y[i] = words[i] >= kept ? x[i] * factor : T(0);
  }
}

}  // namespace

template <class T>
void add_pointwise(LoopsOf<T>& loops) {
  loops.add = add<T>;
  loops.drop = drop<T>;
}

template void add_pointwise(LoopsOf<float>& loops);
template void add_pointwise(LoopsOf<double>& loops);

}  // namespace braid::runtime::BRAID_LEVEL
