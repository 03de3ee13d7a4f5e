// Own CUDA kernels, added over the general ones of libtorch.
//
// Launchers take raw pointers and sizes, return at once and leave their error
// in cudaGetLastError. Everything is contiguous; T is float or double. B
// members (1 for one model); what differs between members lies in [B].
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace braid::runtime {

class KernelTable;

// Rows for tensors on device `index`; what they cannot do is left to the
// kernel that the table holds before. Kernels run on `stream`.
void add_cuda_kernels(KernelTable& table, int index, cudaStream_t stream);

// Parts of it that look at calls in files of their own.
void add_cuda_fusion(KernelTable& table, int index, cudaStream_t stream);
void add_cuda_members(KernelTable& table, int index);
void add_cuda_depthwise(KernelTable& table, int index, cudaStream_t stream);
void add_cuda_turns(KernelTable& table, cudaStream_t stream);
void add_cuda_batch_norm(KernelTable& table, int index, cudaStream_t stream);

namespace cuda {

// Most members in one launch.
inline constexpr int64_t kMaxMembers = 65535;

// Elements as they lie in memory; what they are computed in is f32, or f64.
enum class Item { kBFloat16, kFloat16, kFloat32, kFloat64 };

// y[B, count] from x; both may be the same. The numbers are the CPU's.
struct Dropout {
  void* y;
  const void* x;
  Item item;
  const double* p;             // [B]
  const int64_t *seed, *step;  // [B]
  const int64_t* micro;
  uint64_t rng_key;
  int64_t members, count;
};
void launch_dropout(const Dropout& d, cudaStream_t stream);

// The update of one parameter [B, count]; outputs may lie in the place of
// inputs. States and values that are missing are null, as are `extra`, `scale`
// (of gradients) and `keep` (0: the member stays as it is). `values` are those
// of UpdateKind, in its order.
inline constexpr int kMaxStates = 3, kMaxValues = 8;
template <class T>
struct Update {
  T *p_out, *states_out[kMaxStates];
  const T *p, *states[kMaxStates];
  const void* gradient;  // of T, or bf16 when it is narrow
  bool is_narrow;
  const int64_t* step;                 // [B]
  const double* values[kMaxValues];    // [B] each
  const double *extra, *scale, *keep;  // [B]
  bool nesterov, decoupled;
  int64_t members, count;
};
// Updates that do not depend on each other, in as few launches as they fit in;
// all of them have the same members, numbers and flags.
template <class T>
using UpdateLauncher = void (*)(std::span<const Update<T>>, cudaStream_t);

// Whether two updates differ in their tensors alone.
template <class T>
bool have_same_numbers(const Update<T>& a, const Update<T>& b) {
  for (int i = 0; i < kMaxValues; ++i) {
    if (a.values[i] != b.values[i]) return false;
  }
  return a.step == b.step && a.extra == b.extra && a.scale == b.scale &&
         a.keep == b.keep && a.nesterov == b.nesterov &&
         a.decoupled == b.decoupled && a.members == b.members;
}

// The launcher of a kind of optimizer whose states are those with a bit in
// `has`; null when there is none.
template <class T>
UpdateLauncher<T> find_update(std::string_view kind, unsigned has);

// sum[B] of x[B, count]^2, in an order that depends on count alone.
// `partial` has sum_squares_blocks(count) numbers per member.
int64_t sum_squares_blocks(int64_t count);
template <class T>
void launch_sum_squares(double* sum, double* partial, const T* x,
                        int64_t members, int64_t count, cudaStream_t stream);

// Mean over rows of logits[B * R, C], X, in T: f64 for logits in f64, else f32.
// Targets equal to `ignored` do not count, others outside the classes give NaN.
// `row_loss` is scratch of B * R numbers.
template <class T>
struct CrossEntropy {
  T *loss, *total, *number;  // [B], logsumexp [B * R], [B]
  T* row_loss;
  const void* logits;
  Item item;              // of logits
  const int64_t* target;  // [B * R]
  T smoothing;
  const double* smoothings;  // [B] in place of it, or null
  int64_t ignored;
  int64_t members, rows, classes;
};
template <class T>
void launch_cross_entropy(const CrossEntropy<T>& c, cudaStream_t stream);

// dx is of the type of the logits and may be them.
template <class T>
struct CrossEntropyBackward {
  void* dx;
  const T* dy;
  const void* logits;
  Item item;
  const T *total, *number;
  const int64_t* target;
  T smoothing;
  const double* smoothings;  // [B] in place of it, or null
  int64_t ignored;
  int64_t members, rows, classes;
};
template <class T>
void launch_cross_entropy_backward(const CrossEntropyBackward<T>& c,
                                   cudaStream_t stream);

// x[B, R, C], w[B, C] or null, mean and rstd [B * R]; dx may be dy. `partial`
// is scratch of 2 * layer_norm_chunks(R) * B * C numbers.
template <class T>
struct LayerNormBackward {
  T *dx, *dw, *db;
  T* partial;
  const T *dy, *x, *w, *mean, *rstd;
  int64_t members, rows, columns;
};
int64_t layer_norm_chunks(int64_t rows);
template <class T>
void launch_layer_norm_backward(const LayerNormBackward<T>& n,
                                cudaStream_t stream);

// y[images, places, channels] of x[images, channels, places], or back.
struct Turn {
  void* y;
  const void* x;
  Item to, from;  // but f64
  bool to_last;
  int64_t images, channels, places;
};
void launch_turn(const Turn& turn, cudaStream_t stream);

// Channels of x: [B, N, C, S] with members, rows and channels so far apart (in
// elements). Either channels or places are neighbours.
struct ChannelSizes {
  int64_t members, batch, channels, places;
  int64_t member_step, batch_step, channel_step, place_step;
};

// Of batch norm in training, per member and channel [B * C], in T: f64 for x in
// f64, else f32. `partial` is scratch of norm_partials() numbers.
template <class T>
struct NormStatistics {
  T *mean, *rstd, *scale;                      // scale = weight / deviation
  T *running_mean, *running_var;               // the new ones, or null
  const T *before_mean, *before_var, *weight;  // weight may be null
  const void* x;
  T* partial;
  double momentum, eps;
};
template <class T>
struct NormSums {
  T *dw, *db, *shift, *slope, *scale;
  const T *mean, *rstd, *weight;  // weight may be null
  const void *dy, *x;
  T* partial;
};
int64_t norm_partials(const ChannelSizes& sizes);
template <class T>
void launch_norm_statistics(const NormStatistics<T>& n,
                            const ChannelSizes& sizes, Item item,
                            cudaStream_t stream);
template <class T>
void launch_norm_sums(const NormSums<T>& n, const ChannelSizes& sizes,
                      Item item, cudaStream_t stream);

// A convolution along one axis; input and output are places, kernel is taps.
struct DepthwiseAxis {
  int input, output, kernel, stride, padding, dilation;
};

// Images of channels that are on their own; kernels have at most 2048 taps.
struct DepthwiseSizes {
  int64_t members, batch, channels;
  DepthwiseAxis rows, columns;
  __host__ __device__ int taps() const { return rows.kernel * columns.kernel; }
};

// Elements from one to the next along each dimension.
struct ImageSteps {
  int64_t member, image, channel, row, column;
};

// y from x, or dx from dy. Weights lie [B, C, taps].
struct Depthwise {
  void* to;
  const void *from, *weight;
  Item item;
  bool of_input;
  ImageSteps to_steps, from_steps;
  DepthwiseSizes sizes;
};
void launch_depthwise(const Depthwise& d, cudaStream_t stream);

// dw[B, C, taps] of kernels of 3 x 3 or 5 x 5; `partial` is scratch of
// depthwise_partials() numbers, of f64 for f64 and else f32.
struct DepthwiseWeight {
  void* dw;
  const void *dy, *x;
  void* partial;
  Item item;
  ImageSteps dy_steps, x_steps;
  DepthwiseSizes sizes;
};
int64_t depthwise_partials(const DepthwiseSizes& sizes);
void launch_depthwise_weight(const DepthwiseWeight& d, cudaStream_t stream);

}  // namespace cuda
}  // namespace braid::runtime
