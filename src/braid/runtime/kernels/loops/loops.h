// The inner loops of the CPU kernels. They are compiled once per instruction
// set (folder level/) and chosen when kernels are registered, so one binary
// runs everywhere and uses the widest registers there are. No torch here.
//
// Loops run on the calling thread, keep nothing and may be called from many
// threads at once. Operands are row-major; an output may lie exactly where an
// input lies unless it says otherwise. Everything but `product` and
// the functions of fusions (exp, tanh and what is made of them) gives the same
// bits at every level.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "braid/runtime/kernels/update_inputs.h"

namespace braid::runtime {

// y[M, N] = a[M, K] * b[K, N] + bias[N]. Steps are in elements: from one row
// (column) to the next. y is row-major and lies apart from the rest.
template <class T>
struct SmallProduct {
  T* y = nullptr;
  const T *a = nullptr, *b = nullptr;
  const T* bias = nullptr;  // or null
  int64_t m = 0, n = 0, k = 0;
  int64_t a_row = 0, a_column = 0;
  int64_t b_row = 0, b_column = 0;  // one of them is 1
};

// Elements that b may have when its columns are the contiguous ones.
constexpr int64_t kMaxTurned = 4096;

// What the backward pass of a normalisation knows of each column.
template <class T>
struct NormColumns {
  const T *mean = nullptr, *slope = nullptr;
  const T *shift = nullptr, *scale = nullptr;
};

// Convolutions of channels on their own: planes of so many channels at once,
// whose input, kernel and output have at most so many elements together.
constexpr int64_t kDepthwiseLanes = 16, kDepthwiseElements = 2560;

struct DepthwiseAxis {
  int64_t input = 1, output = 1, kernel = 1;
  int64_t stride = 1, padding = 0, dilation = 1;
};

struct DepthwiseSizes {
  DepthwiseAxis rows, columns;
  int64_t inputs() const { return rows.input * columns.input; }
  int64_t outputs() const { return rows.output * columns.output; }
  int64_t taps() const { return rows.kernel * columns.kernel; }
};

// Images of a batch, and how far apart they lie.
struct DepthwiseImages {
  int64_t count = 0, x_step = 0, dy_step = 0;
};

// One member's parameter and states; missing states are null.
template <class T>
struct UpdatePlaces {
  static constexpr int kMaxStates = 3;
  T* p = nullptr;
  const T *before = nullptr, *g = nullptr;
  T* s[kMaxStates] = {};
  const T* s_before[kMaxStates] = {};
};

// Elements [from, to) of a parameter after one update; gradients are
// multiplied by `scale`.
template <class T>
using UpdateLoop = void (*)(const UpdateCoefficients& rule, T scale,
                            const UpdatePlaces<T>& at, int64_t from,
                            int64_t to);

// `has` has a bit for each state that is there.
template <class T>
struct UpdateRow {
  const char* kind;
  unsigned has;
  UpdateCoefficients (*make)(const UpdateInputs& in);  // for the loop
  UpdateLoop<T> loop;
};

// One op of a fusion (see ops/core/fusion.h) on n elements, with its operands
// and numbers. Operands that an op has not may be anything that can be read.
template <class T>
using FusionLoop = void (*)(T* y, const T* a, const T* b, const T* c, T v, T w,
                            int64_t n);

template <class T>
struct FusionRow {
  const char* op;
  FusionLoop<T> loop;
};

template <class T>
struct LoopsOf {
  // y[n] = a[n] + b[n].
  void (*add)(T* y, const T* a, const T* b, int64_t n);

  // y[C] = the sum of R rows of C that lie `step` apart, in a fixed order. y
  // lies apart from x.
  void (*sum_rows)(T* y, const T* x, int64_t rows, int64_t columns,
                   int64_t step);
  double (*sum)(const T* x, int64_t count);
  double (*sum_squares)(const T* x, int64_t count);

  // Rows of C: y, and mean and rstd of each; w and b may be null.
  void (*layer_norm)(T* y, const T* x, const T* w, const T* b, int64_t rows,
                     int64_t columns, double eps, T* mean, T* rstd);
  // Adds to dw[C] and db[C]; dx may lie where dy lies.
  void (*layer_norm_backward)(T* dx, const T* dy, const T* x, const T* w,
                              const T* mean, const T* rstd, int64_t rows,
                              int64_t columns, T* dw, T* db);

  // Columns of R rows that lie `step` apart. Sums of x, of (x - mean)^2, and of
  // dy and dy * (x - mean); rows are added in a fixed order.
  void (*column_sums)(double* sums, const T* x, int64_t rows, int64_t columns,
                      int64_t step);
  void (*column_squares)(double* sums, const T* x, const T* mean, int64_t rows,
                         int64_t columns, int64_t step);
  void (*column_pairs)(double* sums, double* dots, const T* dy, const T* x,
                       const T* mean, int64_t rows, int64_t columns,
                       int64_t step);
  // y = x * scale + shift.
  void (*scale_columns)(T* y, const T* x, const T* scale, const T* shift,
                        int64_t rows, int64_t columns, int64_t step);
  // dx = (dy - shift - (x - mean) * slope) * scale.
  void (*norm_columns_backward)(T* dx, const T* dy, const T* x,
                                const NormColumns<T>& at, int64_t rows,
                                int64_t columns, int64_t step);

  // The greatest of each window of 2 x 2 in a plane whose rows are `width`
  // wide, and its place there: [R, C] of them.
  void (*pool_halves)(T* y, int64_t* places, const T* x, int64_t rows,
                      int64_t columns, int64_t width);
  // The greatest of x[n] and the first of its places. NaN is the greatest.
  void (*row_max)(T* value, int64_t* place, const T* x, int64_t count);

  // y = x * factor where the random word is at least `kept`, else 0.
  void (*drop)(T* y, const T* x, const uint32_t* words, uint32_t kept, T factor,
               int64_t count);

  // totals[R] = log(sum(exp(x[R, C]))).
  void (*log_sum_exp)(T* totals, const T* x, int64_t rows, int64_t columns);
  // y = (exp(x - totals) - shift) * factor.
  void (*scaled_softmax)(T* y, const T* x, const T* totals, T shift, T factor,
                         int64_t rows, int64_t columns);

  // y = softmax(x * scale) over the first `seen` columns, 0 in the others, and
  // everywhere where all of x is -inf. y lies apart from x.
  void (*softmax_row)(T* y, const T* x, T scale, int64_t columns, int64_t seen);
  // dx = (dy - sum(dy * y)) * y.
  void (*softmax_row_backward)(T* dx, const T* dy, const T* y, int64_t columns);

  void (*product)(const SmallProduct<T>& p);

  // Up to kDepthwiseLanes channels of one image: y from x, dx from dy. Planes
  // and kernels of channels lie one after the other; bias may be null. Outputs
  // lie apart.
  void (*depthwise)(T* y, const T* x, const T* w, const T* bias,
                    const DepthwiseSizes& sizes, int64_t channels);
  void (*depthwise_input)(T* dx, const T* dy, const T* w,
                          const DepthwiseSizes& sizes, int64_t channels);
  // dw, summed over the images.
  void (*depthwise_weight)(T* dw, const T* dy, const T* x,
                           const DepthwiseSizes& sizes, int64_t channels,
                           const DepthwiseImages& images);

  // to[R, C] = the elements that lie so many steps apart; `to` lies apart.
  void (*gather_rows)(T* to, const T* from, int64_t rows, int64_t columns,
                      int64_t row_step, int64_t column_step);

  const UpdateRow<T>* updates;
  int64_t num_updates;

  const FusionRow<T>* fusion;
  int64_t num_fusion;

  // Null when the op may not be in a fusion.
  FusionLoop<T> fusion_loop(std::string_view op) const {
    for (int64_t i = 0; i < num_fusion; ++i) {
      if (fusion[i].op == op) return fusion[i].loop;
    }
    return nullptr;
  }
};

struct Loops {
  const char* level;
  LoopsOf<float> f32;
  LoopsOf<double> f64;

  // The words of philox(key, counter, moment) for `blocks` counters from
  // `first`, four each.
  void (*random_words)(uint32_t* words, uint64_t key, uint64_t moment,
                       uint64_t first, int64_t blocks);

  template <class T>
  const LoopsOf<T>& of() const {
    if constexpr (std::is_same_v<T, double>) {
      return f64;
    } else {
      return f32;
    }
  }
};

// The levels that this machine can run, from plain code to the widest.
std::vector<Loops> all_loops();

}  // namespace braid::runtime
