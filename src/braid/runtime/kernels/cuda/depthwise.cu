// Convolutions of channels on their own, all members in one launch. A block
// works on a few neighbouring channels, whose weights lie in shared memory, and
// on many places; gradients of weights are added up in two stages without
// atomics, so that the order never changes.
#include "braid/runtime/kernels/cuda/cuda_kernels.h"
#include "braid/runtime/kernels/cuda/items.cuh"
#include "braid/runtime/kernels/cuda/launch.cuh"

namespace braid::runtime::cuda {
namespace {

constexpr int kLanes = 16;       // packs of channels in a block, at most
constexpr int kPerThread = 4;    // places
constexpr int kTileTaps = 2048;  // weights in shared memory
constexpr int64_t kEnoughBlocks = 1056;

// How the threads of a block are dealt out.
struct Deal {
  int lanes, lines;  // along channels, along places
  unsigned tiles;    // blocks along channels
};

Deal deal_of(const DepthwiseSizes& s, int width) {
  int64_t packs = (s.channels + width - 1) / width;
  int64_t most = kTileTaps / (width * s.taps());
  Deal deal{1, kThreads, 1};
  while (deal.lanes < kLanes && deal.lanes < packs && deal.lanes * 2 <= most) {
    deal.lanes *= 2;
  }
  deal.lines = kThreads / deal.lanes;
  deal.tiles = static_cast<unsigned>((packs + deal.lanes - 1) / deal.lanes);
  return deal;
}

// Where a thread stands.
struct Standing {
  int lane, line;
  int64_t channel, member;
};

template <int kWidth>
__device__ Standing standing(const Deal& deal) {
  int lane = static_cast<int>(threadIdx.x) % deal.lanes;
  return {lane, static_cast<int>(threadIdx.x) / deal.lanes,
          (int64_t{blockIdx.y} * deal.lanes + lane) * kWidth, blockIdx.z};
}

__device__ inline int64_t offset(const ImageSteps& steps, int64_t member,
                                 int64_t image, int64_t channel, int64_t row,
                                 int64_t column) {
  return member * steps.member + image * steps.image + channel * steps.channel +
         row * steps.row + column * steps.column;
}

// Weights of the block's channels as [taps, channels].
template <class T, class X, int kWidth>
__device__ void load_weights(T* shared, const X* w, const DepthwiseSizes& s,
                             const Deal& deal) {
  int taps = s.taps(), channels = deal.lanes * kWidth;
  int64_t first = int64_t{blockIdx.y} * channels;
  const X* mine = w + (blockIdx.z * s.channels + first) * taps;
  for (int i = static_cast<int>(threadIdx.x); i < channels * taps;
       i += kThreads) {
    int channel = i / taps, tap = i % taps;
    bool there = first + channel < s.channels;
    shared[tap * channels + channel] =
        there ? static_cast<T>(wide(mine[i])) : T(0);
  }
  __syncthreads();
}

// The place of `from` that a tap joins with place `to` of the result; false
// where there is none. The gradient of the input goes the other way.
template <bool kOfInput>
__device__ bool joined(const DepthwiseAxis& axis, int to, int tap, int& from) {
  if constexpr (kOfInput) {
    from = to + axis.padding - tap * axis.dilation;
    if (from < 0 || from % axis.stride != 0) return false;
    from /= axis.stride;
    return from < axis.output;
  } else {
    from = to * axis.stride - axis.padding + tap * axis.dilation;
    return from >= 0 && from < axis.input;
  }
}

// y from x, or dx from dy.
template <class T, class X, int kWidth, bool kOfInput>
__global__ void __launch_bounds__(kThreads)
    place_kernel(Depthwise d, Deal deal) {
  __shared__ T weights[kTileTaps];
  const DepthwiseSizes& s = d.sizes;
  const X* x = static_cast<const X*>(d.from);
  load_weights<T, X, kWidth>(weights, static_cast<const X*>(d.weight), s, deal);
  Standing at = standing<kWidth>(deal);
  if (at.channel >= s.channels) return;
  int rows = kOfInput ? s.rows.input : s.rows.output;
  int columns = kOfInput ? s.columns.input : s.columns.output;
  int64_t places = s.batch * rows * columns;
  int64_t place = blockIdx.x * int64_t{kPerThread} * deal.lines + at.line;
  int channels = deal.lanes * kWidth;
  using Packed = Items<X, kWidth>;
  for (int n = 0; n < kPerThread && place < places; ++n, place += deal.lines) {
    int64_t image = place / (rows * columns);
    int rest = static_cast<int>(place % (rows * columns));
    int row = rest / columns, column = rest % columns;
    T sums[kWidth] = {};
    for (int i = 0; i < s.rows.kernel; ++i) {
      int from_row, from_column;
      if (!joined<kOfInput>(s.rows, row, i, from_row)) continue;
      for (int j = 0; j < s.columns.kernel; ++j) {
        if (!joined<kOfInput>(s.columns, column, j, from_column)) continue;
        Packed pack = *reinterpret_cast<const Packed*>(
            x + offset(d.from_steps, at.member, image, at.channel, from_row,
                       from_column));
        const T* tap =
            weights + (i * s.columns.kernel + j) * channels + at.lane * kWidth;
#pragma unroll
        for (int k = 0; k < kWidth; ++k) {
          sums[k] += static_cast<T>(wide(pack.at[k])) * tap[k];
        }
      }
    }
    Packed made;
#pragma unroll
    for (int k = 0; k < kWidth; ++k) put(made.at[k], sums[k]);
    *reinterpret_cast<Packed*>(
        static_cast<X*>(d.to) +
        offset(d.to_steps, at.member, image, at.channel, row, column)) = made;
  }
}

// partial[chunks, B, C, taps] of a part of the places.
template <class T, class X, int kWidth, int kRows, int kColumns>
__global__ void __launch_bounds__(kThreads)
    weight_kernel(DepthwiseWeight d, Deal deal, int64_t per_chunk) {
  constexpr int kTaps = kRows * kColumns;
  __shared__ T shared[kThreads * kWidth];
  const DepthwiseSizes& s = d.sizes;
  const X *dy = static_cast<const X*>(d.dy), *x = static_cast<const X*>(d.x);
  Standing at = standing<kWidth>(deal);
  int64_t plane = int64_t{s.rows.output} * s.columns.output;
  int64_t places = s.batch * plane;
  int64_t end = (blockIdx.x + 1) * per_chunk;
  if (end > places) end = places;
  T sums[kTaps][kWidth] = {};
  using Packed = Items<X, kWidth>;
  bool inside = at.channel < s.channels;
  for (int64_t place = blockIdx.x * per_chunk + at.line; inside && place < end;
       place += deal.lines) {
    int64_t image = place / plane;
    int rest = static_cast<int>(place % plane);
    int row = rest / s.columns.output, column = rest % s.columns.output;
    Packed g = *reinterpret_cast<const Packed*>(
        dy + offset(d.dy_steps, at.member, image, at.channel, row, column));
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      int from_row, from_column;
      if (!joined<false>(s.rows, row, i, from_row)) continue;
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        if (!joined<false>(s.columns, column, j, from_column)) continue;
        Packed pack = *reinterpret_cast<const Packed*>(
            x + offset(d.x_steps, at.member, image, at.channel, from_row,
                       from_column));
#pragma unroll
        for (int k = 0; k < kWidth; ++k) {
          sums[i * kColumns + j][k] +=
              static_cast<T>(wide(g.at[k])) * static_cast<T>(wide(pack.at[k]));
        }
      }
    }
  }
  T* partial = static_cast<T*>(d.partial) +
               int64_t{blockIdx.x} * s.members * s.channels * kTaps;
#pragma unroll
  for (int tap = 0; tap < kTaps; ++tap) {
    __syncthreads();  // the tap before may still be read
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      shared[k * kThreads + threadIdx.x] = sums[tap][k];
    }
    __syncthreads();
    if (at.line > 0 || !inside) continue;
    for (int k = 0; k < kWidth && at.channel + k < s.channels; ++k) {
      T sum = 0;
      for (int line = 0; line < deal.lines; ++line) {
        sum += shared[k * kThreads + line * deal.lanes + at.lane];
      }
      partial[(at.member * s.channels + at.channel + k) * kTaps + tap] = sum;
    }
  }
}

template <class T, class X>
__global__ void sum_kernel(X* dw, const T* partial, int64_t chunks,
                           int64_t count) {
  int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x;
  if (i >= count) return;
  T sum = 0;
#pragma unroll 4
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    sum += partial[chunk * count + i];
  }
  put(dw[i], sum);
}

// Whether packs of so many channels begin where one may.
template <class X, int kWidth>
bool fits_packs(const void* data, const ImageSteps& steps,
                const DepthwiseSizes& s) {
  auto even = [](int64_t step) { return step % kWidth == 0; };
  return steps.channel == 1 && s.channels % kWidth == 0 &&
         reinterpret_cast<uintptr_t>(data) % (sizeof(X) * kWidth) == 0 &&
         even(steps.member) && even(steps.image) && even(steps.row) &&
         even(steps.column);
}

template <class T, class X, int kWidth>
void launch_places(const Depthwise& d, cudaStream_t stream) {
  Deal deal = deal_of(d.sizes, kWidth);
  const DepthwiseSizes& s = d.sizes;
  int64_t places = d.of_input ? s.batch * s.rows.input * s.columns.input
                              : s.batch * s.rows.output * s.columns.output;
  int64_t per_block = int64_t{kPerThread} * deal.lines;
  dim3 grid(static_cast<unsigned>((places + per_block - 1) / per_block),
            deal.tiles, static_cast<unsigned>(s.members));
  if (d.of_input) {
    place_kernel<T, X, kWidth, true><<<grid, kThreads, 0, stream>>>(d, deal);
  } else {
    place_kernel<T, X, kWidth, false><<<grid, kThreads, 0, stream>>>(d, deal);
  }
}

int64_t weight_chunks(const DepthwiseSizes& s, const Deal& deal) {
  int64_t places = s.batch * s.rows.output * s.columns.output;
  int64_t wanted = kEnoughBlocks / (deal.tiles * s.members) + 1;
  int64_t most = (places + 4 * deal.lines - 1) / (4 * deal.lines);
  return wanted < most ? wanted : most;
}

template <class T, class X, int kWidth, int kSide>
void launch_weight_as(const DepthwiseWeight& d, cudaStream_t stream) {
  const DepthwiseSizes& s = d.sizes;
  Deal deal = deal_of(s, kWidth);
  int64_t places = s.batch * s.rows.output * s.columns.output;
  int64_t chunks = weight_chunks(s, deal);
  dim3 grid(static_cast<unsigned>(chunks), deal.tiles,
            static_cast<unsigned>(s.members));
  weight_kernel<T, X, kWidth, kSide, kSide>
      <<<grid, kThreads, 0, stream>>>(d, deal, (places + chunks - 1) / chunks);
  int64_t count = s.members * s.channels * s.taps();
  sum_kernel<<<blocks_for(count), kThreads, 0, stream>>>(
      static_cast<X*>(d.dw), static_cast<const T*>(d.partial), chunks, count);
}

template <class T, class X, int kWidth>
void launch_weight(const DepthwiseWeight& d, cudaStream_t stream) {
  d.sizes.rows.kernel == 3 ? launch_weight_as<T, X, kWidth, 3>(d, stream)
                           : launch_weight_as<T, X, kWidth, 5>(d, stream);
}

}  // namespace

int64_t depthwise_partials(const DepthwiseSizes& s) {
  int64_t most = 1;
  for (int width : {1, 2}) {
    int64_t chunks = weight_chunks(s, deal_of(s, width));
    if (chunks > most) most = chunks;
  }
  return most * s.members * s.channels * s.taps();
}

void launch_depthwise(const Depthwise& d, cudaStream_t stream) {
  with_item(d.item, [&]<class X>() {
    using T = decltype(wide(X()));
    constexpr int kWidth = 8 / sizeof(X);
    if (fits_packs<X, kWidth>(d.from, d.from_steps, d.sizes) &&
        fits_packs<X, kWidth>(d.to, d.to_steps, d.sizes)) {
      launch_places<T, X, kWidth>(d, stream);
    } else {
      launch_places<T, X, 1>(d, stream);
    }
  });
}

void launch_depthwise_weight(const DepthwiseWeight& d, cudaStream_t stream) {
  with_item(d.item, [&]<class X>() {
    using T = decltype(wide(X()));
    if (fits_packs<X, 2>(d.dy, d.dy_steps, d.sizes) &&
        fits_packs<X, 2>(d.x, d.x_steps, d.sizes)) {
      launch_weight<T, X, 2>(d, stream);
    } else {
      launch_weight<T, X, 1>(d, stream);
    }
  });
}

}  // namespace braid::runtime::cuda
