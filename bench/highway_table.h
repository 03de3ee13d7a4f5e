// What bench/highway_loops.h gives for each instruction set.
#pragma once

#include <cstdint>

namespace braid::bench {

// The coefficients of AdamRule.
template <class T>
struct AdamwNumbers {
  T rate, add1, keep2, add2, root, eps, shrink;
};

// `bare` functions are the library's own; the others treat NaN and infinities
// as our functions do.
template <class T>
struct HighwayOf {
  using Function = void (*)(T* y, const T* x, int64_t count);
  Function bare_exp, exp, bare_log, log, bare_tanh, tanh;
  Function bare_sigmoid, sigmoid, bare_gelu, gelu;
  void (*addcmul)(T* y, const T* a, const T* b, const T* c, T v, int64_t count);
  Function hardswish;
  void (*softmax)(T* y, const T* x, T scale, int64_t rows, int64_t columns);
  void (*layer_norm)(T* y, const T* x, const T* w, const T* b, int64_t rows,
                     int64_t columns, double eps, T* mean, T* rstd);
  void (*sum_rows)(T* y, const T* x, int64_t rows, int64_t columns,
                   int64_t step);
  void (*adamw)(const AdamwNumbers<T>& n, T scale, T* p, const T* g, T* s0,
                T* s1, int64_t count);
  void (*product)(T* y, const T* a, const T* b, int64_t m, int64_t n,
                  int64_t k);
};

struct HighwayLoops {
  const char* target;
  HighwayOf<float> f32;
  HighwayOf<double> f64;
};

}  // namespace braid::bench
