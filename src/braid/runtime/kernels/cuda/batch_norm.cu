// Sums over all elements of a channel, in two stages without atomics: the order
// never changes. Where channels are neighbours a thread adds up columns, else a
// block adds up one channel. Values are taken relative to the first of their
// channel, or to its mean, so that nothing cancels.
#include "braid/runtime/kernels/cuda/cuda_kernels.h"
#include "braid/runtime/kernels/cuda/items.cuh"
#include "braid/runtime/kernels/cuda/launch.cuh"

namespace braid::runtime::cuda {
namespace {

constexpr int kLanes = 32;               // column groups of a block, at most
constexpr int64_t kEnoughBlocks = 1056;  // for a large device
constexpr int64_t kLeastRows = 16;       // that a thread adds up
constexpr int64_t kMostChunks = 1024;

// Which blocks there are: a function of sizes alone.
struct Grid {
  bool by_columns;  // channels are neighbours
  int64_t rows;     // elements of a channel
  int64_t chunks;   // parts of them
  unsigned tiles;   // blocks along channels
};

bool is_by_columns(const ChannelSizes& s) {
  bool even = s.places == 1 || s.batch_step == s.places * s.place_step;
  return s.channel_step == 1 && even;
}

// Threads along the channels of a block: a power of two.
__host__ __device__ inline int64_t lanes_of(int64_t channels, int width) {
  int64_t groups = (channels + width - 1) / width, lanes = 1;
  while (lanes < groups && lanes < kLanes) lanes *= 2;
  return lanes;
}

Grid grid_of(const ChannelSizes& s, int width) {
  Grid grid{is_by_columns(s), s.batch * s.places, 1, 1};
  int64_t lanes = lanes_of(s.channels, width), per_chunk = kLeastRows;
  if (grid.by_columns) {
    int64_t per_tile = lanes * width;
    grid.tiles = static_cast<unsigned>((s.channels + per_tile - 1) / per_tile);
    per_chunk *= kThreads / lanes;
  } else {
    grid.tiles = static_cast<unsigned>(s.channels);
    per_chunk *= kThreads;
  }
  int64_t wanted = kEnoughBlocks / (grid.tiles * s.members) + 1;
  int64_t most = (grid.rows + per_chunk - 1) / per_chunk;
  grid.chunks = wanted < most ? wanted : most;
  if (grid.chunks > kMostChunks) grid.chunks = kMostChunks;
  return grid;
}

// What is added up of an element: its distance from the first one and the
// square of that.
template <class T, class X>
struct Spread {
  const X* x;
  using First = T;

  __device__ T center(int64_t, int64_t begin) const { return wide(x[begin]); }
  template <int kWidth>
  __device__ void add(int64_t at, const T* center, T* sums, T* others) const {
    auto pack = *reinterpret_cast<const Items<X, kWidth>*>(x + at);
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      T d = static_cast<T>(wide(pack.at[k])) - center[k];
      sums[k] += d;
      others[k] += d * d;
    }
  }
};

// The gradient, and that times the distance from the mean.
template <class T, class X>
struct Slopes {
  const X *dy, *x;
  const T* mean;

  __device__ T center(int64_t channel, int64_t) const { return mean[channel]; }
  template <int kWidth>
  __device__ void add(int64_t at, const T* center, T* sums, T* others) const {
    auto g = *reinterpret_cast<const Items<X, kWidth>*>(dy + at);
    auto v = *reinterpret_cast<const Items<X, kWidth>*>(x + at);
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      T d = static_cast<T>(wide(g.at[k]));
      sums[k] += d;
      others[k] += d * (static_cast<T>(wide(v.at[k])) - center[k]);
    }
  }
};

// partial[2, chunks, B, C]
template <class T>
__device__ void put_partial(T* partial, const ChannelSizes& s, int64_t chunks,
                            int64_t chunk, int64_t channel, T sum, T other) {
  int64_t all = s.members * s.channels;
  partial[chunk * all + channel] = sum;
  partial[(chunks + chunk) * all + channel] = other;
}

// Blocks (chunk, tile of channels, member).
template <class T, int kWidth, class Terms>
__global__ void __launch_bounds__(kThreads)
    column_kernel(Terms terms, ChannelSizes s, Grid grid, T* partial) {
  __shared__ T shared[2 * kThreads * kWidth];
  int lanes = static_cast<int>(lanes_of(s.channels, kWidth));
  int lane = static_cast<int>(threadIdx.x) % lanes;
  int line = static_cast<int>(threadIdx.x) / lanes, lines = kThreads / lanes;
  int64_t column = (int64_t{blockIdx.y} * lanes + lane) * kWidth;
  int64_t member = blockIdx.z, chunk = blockIdx.x;
  int64_t begin = member * s.member_step + column;
  int64_t step = s.places == 1 ? s.batch_step : s.place_step;
  T center[kWidth] = {}, sums[kWidth] = {}, others[kWidth] = {};
  bool inside = column < s.channels;
  if (inside) {
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      center[k] = terms.center(member * s.channels + column + k, begin + k);
    }
    int64_t per_chunk = (grid.rows + grid.chunks - 1) / grid.chunks;
    int64_t end = (chunk + 1) * per_chunk;
    if (end > grid.rows) end = grid.rows;
#pragma unroll 4
    for (int64_t row = chunk * per_chunk + line; row < end; row += lines) {
      terms.template add<kWidth>(begin + row * step, center, sums, others);
    }
  }
#pragma unroll
  for (int k = 0; k < kWidth; ++k) {
    shared[(2 * k) * kThreads + threadIdx.x] = sums[k];
    shared[(2 * k + 1) * kThreads + threadIdx.x] = others[k];
  }
  __syncthreads();
  if (line > 0 || !inside) return;
  for (int k = 0; k < kWidth; ++k) {
    T sum = 0, other = 0;
    for (int i = 0; i < lines; ++i) {
      sum += shared[(2 * k) * kThreads + i * lanes + lane];
      other += shared[(2 * k + 1) * kThreads + i * lanes + lane];
    }
    put_partial(partial, s, grid.chunks, chunk,
                member * s.channels + column + k, sum, other);
  }
}

// Blocks (chunk, channel, member); each element may lie anywhere.
template <class T, int kWidth, class Terms>
__global__ void __launch_bounds__(kThreads)
    channel_kernel(Terms terms, ChannelSizes s, Grid grid, T* partial) {
  int64_t chunk = blockIdx.x, member = blockIdx.z;
  int64_t channel = blockIdx.y;
  int64_t begin = member * s.member_step + channel * s.channel_step;
  T center[kWidth], sums[kWidth] = {}, others[kWidth] = {};
  T first = terms.center(member * s.channels + channel, begin);
#pragma unroll
  for (int k = 0; k < kWidth; ++k) center[k] = first;
  int64_t packs = grid.rows / kWidth;
  int64_t per_chunk = (packs + grid.chunks - 1) / grid.chunks;
  int64_t end = (chunk + 1) * per_chunk;
  if (end > packs) end = packs;
#pragma unroll 4
  for (int64_t i = chunk * per_chunk + threadIdx.x; i < end; i += kThreads) {
    int64_t row = i * kWidth;
    int64_t at =
        begin + row / s.places * s.batch_step + row % s.places * s.place_step;
    terms.template add<kWidth>(at, center, sums, others);
  }
  T sum = 0, other = 0;
#pragma unroll
  for (int k = 0; k < kWidth; ++k) {
    sum += sums[k];
    other += others[k];
  }
  sum = block_sum(sum);
  other = block_sum(other);
  if (threadIdx.x > 0) return;
  put_partial(partial, s, grid.chunks, chunk, member * s.channels + channel,
              sum, other);
}

// Both sums of a channel over its chunks, in the first of the block's lines; a
// line has a lane for each of so many channels.
constexpr int kLines = kThreads / kLanes;

template <class T>
__device__ bool sums_of(const T* partial, int64_t all, int64_t chunks,
                        int64_t channel, double& sum, double& other) {
  __shared__ double sums[kThreads], others[kThreads];
  int line = static_cast<int>(threadIdx.x) / kLanes;
  double a = 0, b = 0;
  if (channel < all) {
#pragma unroll 4
    for (int64_t i = line; i < chunks; i += kLines) {
      a += partial[i * all + channel];
      b += partial[(chunks + i) * all + channel];
    }
  }
  sums[threadIdx.x] = a;
  others[threadIdx.x] = b;
  __syncthreads();
  if (line > 0 || channel >= all) return false;
  sum = other = 0;
  for (int i = 0; i < kLines; ++i) {
    sum += sums[i * kLanes + threadIdx.x];
    other += others[i * kLanes + threadIdx.x];
  }
  return true;
}

__device__ inline int64_t channel_of_thread() {
  return blockIdx.x * int64_t{kLanes} + threadIdx.x % kLanes;
}

unsigned blocks_of_channels(const ChannelSizes& s) {
  return static_cast<unsigned>((s.members * s.channels + kLanes - 1) / kLanes);
}

template <class T, class X>
__global__ void statistics_kernel(NormStatistics<T> n, ChannelSizes s,
                                  Grid grid) {
  int64_t all = s.members * s.channels;
  int64_t channel = channel_of_thread();
  double sum, squares;
  if (!sums_of(n.partial, all, grid.chunks, channel, sum, squares)) return;
  auto count = static_cast<double>(grid.rows);
  int64_t first = channel / s.channels * s.member_step +
                  channel % s.channels * s.channel_step;
  double off = sum / count;
  double mean = wide(static_cast<const X*>(n.x)[first]) + off;
  double var = squares / count - off * off;
  if (var < 0) var = 0;
  double rstd = 1 / sqrt(var + n.eps);
  n.mean[channel] = static_cast<T>(mean);
  n.rstd[channel] = static_cast<T>(rstd);
  double weight = n.weight ? n.weight[channel] : 1.0;
  n.scale[channel] = static_cast<T>(weight * rstd);
  if (!n.running_mean) return;
  double whole = var * (count / (count - 1));
  double old_mean = n.before_mean[channel], old_var = n.before_var[channel];
  n.running_mean[channel] =
      static_cast<T>(n.momentum * mean + (1 - n.momentum) * old_mean);
  n.running_var[channel] =
      static_cast<T>(n.momentum * whole + (1 - n.momentum) * old_var);
}

template <class T>
__global__ void slopes_kernel(NormSums<T> n, ChannelSizes s, Grid grid) {
  int64_t all = s.members * s.channels;
  int64_t channel = channel_of_thread();
  double sum, dot;
  if (!sums_of(n.partial, all, grid.chunks, channel, sum, dot)) return;
  auto count = static_cast<double>(grid.rows);
  double rstd = n.rstd[channel], dw = dot * rstd;
  double weight = n.weight ? n.weight[channel] : 1.0;
  n.dw[channel] = static_cast<T>(dw);
  n.db[channel] = static_cast<T>(sum);
  n.shift[channel] = static_cast<T>(sum / count);
  n.slope[channel] = static_cast<T>(dw * rstd / count);
  n.scale[channel] = static_cast<T>(weight * rstd);
}

// Whether packs of so many elements begin where one may, everywhere.
bool fits_packs(const ChannelSizes& s, bool by_columns, int width,
                int64_t item_bytes, const void* a, const void* b) {
  auto is_even = [&](const void* data) {
    return reinterpret_cast<uintptr_t>(data) %
               static_cast<uintptr_t>(item_bytes * width) ==
           0;
  };
  if (!is_even(a) || (b && !is_even(b))) return false;
  if (s.members > 1 && s.member_step % width != 0) return false;
  if (by_columns) {
    int64_t step = s.places == 1 ? s.batch_step : s.place_step;
    return s.channels % width == 0 && step % width == 0;
  }
  return s.place_step == 1 && s.places % width == 0 &&
         s.batch_step % width == 0 && s.channel_step % width == 0;
}

template <class T, int kWidth, class Terms>
Grid launch_as(const Terms& terms, const ChannelSizes& s, T* partial,
               cudaStream_t stream) {
  Grid grid = grid_of(s, kWidth);
  dim3 blocks(static_cast<unsigned>(grid.chunks), grid.tiles,
              static_cast<unsigned>(s.members));
  if (grid.by_columns) {
    column_kernel<T, kWidth>
        <<<blocks, kThreads, 0, stream>>>(terms, s, grid, partial);
  } else {
    channel_kernel<T, kWidth>
        <<<blocks, kThreads, 0, stream>>>(terms, s, grid, partial);
  }
  return grid;
}

// With packs of 8 bytes at most where that fits: enough loads are under way.
template <class X, class T, class Terms>
Grid launch_terms(const Terms& terms, const ChannelSizes& s, T* partial,
                  const void* a, const void* b, cudaStream_t stream) {
  constexpr int kWidth = 8 / sizeof(X);
  bool packs =
      kWidth > 1 && fits_packs(s, is_by_columns(s), kWidth, sizeof(X), a, b);
  return packs ? launch_as<T, kWidth>(terms, s, partial, stream)
               : launch_as<T, 1>(terms, s, partial, stream);
}

template <class X, class T>
void launch_statistics_of(const NormStatistics<T>& n, const ChannelSizes& s,
                          cudaStream_t stream) {
  auto* x = static_cast<const X*>(n.x);
  Grid grid =
      launch_terms<X>(Spread<T, X>{x}, s, n.partial, x, nullptr, stream);
  statistics_kernel<T, X>
      <<<blocks_of_channels(s), kThreads, 0, stream>>>(n, s, grid);
}

template <class X, class T>
void launch_sums_of(const NormSums<T>& n, const ChannelSizes& s,
                    cudaStream_t stream) {
  auto *dy = static_cast<const X*>(n.dy), *x = static_cast<const X*>(n.x);
  Grid grid =
      launch_terms<X>(Slopes<T, X>{dy, x, n.mean}, s, n.partial, dy, x, stream);
  slopes_kernel<T><<<blocks_of_channels(s), kThreads, 0, stream>>>(n, s, grid);
}

}  // namespace

int64_t norm_partials(const ChannelSizes& sizes) {
  int64_t most = 1;
  for (int width : {1, 2, 4, 8}) {
    int64_t chunks = grid_of(sizes, width).chunks;
    if (chunks > most) most = chunks;
  }
  return 2 * most * sizes.members * sizes.channels;
}

template <>
void launch_norm_statistics(const NormStatistics<double>& n,
                            const ChannelSizes& sizes, Item,
                            cudaStream_t stream) {
  launch_statistics_of<double>(n, sizes, stream);
}

template <>
void launch_norm_statistics(const NormStatistics<float>& n,
                            const ChannelSizes& sizes, Item item,
                            cudaStream_t stream) {
  if (item == Item::kBFloat16) {
    launch_statistics_of<__nv_bfloat16>(n, sizes, stream);
  } else if (item == Item::kFloat16) {
    launch_statistics_of<__half>(n, sizes, stream);
  } else {
    launch_statistics_of<float>(n, sizes, stream);
  }
}

template <>
void launch_norm_sums(const NormSums<double>& n, const ChannelSizes& sizes,
                      Item, cudaStream_t stream) {
  launch_sums_of<double>(n, sizes, stream);
}

template <>
void launch_norm_sums(const NormSums<float>& n, const ChannelSizes& sizes,
                      Item item, cudaStream_t stream) {
  if (item == Item::kBFloat16) {
    launch_sums_of<__nv_bfloat16>(n, sizes, stream);
  } else if (item == Item::kFloat16) {
    launch_sums_of<__half>(n, sizes, stream);
  } else {
    launch_sums_of<float>(n, sizes, stream);
  }
}

}  // namespace braid::runtime::cuda
