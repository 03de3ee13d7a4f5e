// Convolutions of channels on their own. Planes of kDepthwiseLanes channels
// are turned so that their elements lie side by side: whatever the sizes of
// plane and kernel, each product is one of whole vectors.
#include "braid/runtime/kernels/loops/level/transpose.h"

namespace braid::runtime::BRAID_LEVEL {
namespace {

constexpr int64_t kLanes = kDepthwiseLanes;

// Element i of all channels.
template <class T>
using Lane = Vector<T, kLanes>;

template <class T>
BRAID_INLINE Lane<T> lane(const T* turned, int64_t i) {
  Lane<T> value;
  std::memcpy(&value, turned + i * kLanes, sizeof value);
  return value;
}

template <class T>
BRAID_INLINE void set_lane(T* turned, int64_t i, Lane<T> value) {
  std::memcpy(turned + i * kLanes, &value, sizeof value);
}

// to[E, kLanes] = from[C, E]; channels that are not there are zeros.
template <class T>
BRAID_INLINE void turn_in(T* to, const T* from, int64_t channels,
                          int64_t count) {
  if (channels < kLanes) {
    for (int64_t i = 0; i < count * kLanes; ++i) to[i] = T(0);
  }
  transpose(to, kLanes, from, count, channels, count);
}

template <class T>
BRAID_INLINE void turn_out(T* to, const T* from, int64_t channels,
                           int64_t count) {
  transpose(to, count, from, kLanes, count, channels);
}

// Input, kernel and output of kLanes channels.
template <class T>
struct Turned {
  BRAID_INLINE explicit Turned(const DepthwiseSizes& s)
      : kernel(input + s.inputs() * kLanes),
        output(kernel + s.taps() * kLanes) {}

  alignas(64) T input[kDepthwiseElements * kLanes];
  T *kernel, *output;
};

struct Range {
  int64_t from, to;
};

// a / b, at least 0. Divisions take long, and most steps are 1.
BRAID_INLINE int64_t rounded_up(int64_t a, int64_t b) {
  if (a <= 0) return 0;
  return b == 1 ? a : (a + b - 1) / b;
}

// Elements of the kernel that meet the input, seen from output `o`.
BRAID_INLINE Range taps(const DepthwiseAxis& a, int64_t o) {
  int64_t first = o * a.stride - a.padding;
  int64_t to = rounded_up(a.input - first, a.dilation);
  return {rounded_up(-first, a.dilation), to < a.kernel ? to : a.kernel};
}

// Outputs that element k of the kernel meets the input for.
BRAID_INLINE Range outputs(const DepthwiseAxis& a, int64_t k) {
  int64_t first = k * a.dilation - a.padding;
  int64_t to = rounded_up(a.input - first, a.stride);
  return {rounded_up(-first, a.stride), to < a.output ? to : a.output};
}

// The element of the input that output o and element k of the kernel meet.
BRAID_INLINE int64_t input_of(const DepthwiseAxis& a, int64_t o, int64_t k) {
  return o * a.stride - a.padding + k * a.dilation;
}

// visit(tap, input) for all that meet in one output.
template <class F>
BRAID_INLINE void meet(const DepthwiseSizes& s, int64_t row, int64_t column,
                       F&& visit) {
  Range down = taps(s.rows, row), across = taps(s.columns, column);
  for (int64_t i = down.from; i < down.to; ++i) {
    int64_t line = input_of(s.rows, row, i) * s.columns.input;
    for (int64_t j = across.from; j < across.to; ++j) {
      visit(i * s.columns.kernel + j, line + input_of(s.columns, column, j));
    }
  }
}

template <class T>
void depthwise(T* y, const T* x, const T* w, const T* bias,
               const DepthwiseSizes& s, int64_t channels) {
  Turned<T> t(s);
  turn_in(t.input, x, channels, s.inputs());
  turn_in(t.kernel, w, channels, s.taps());
  Lane<T> begin = {};
  for (int64_t c = 0; bias && c < channels; ++c) begin[c] = bias[c];
  for (int64_t row = 0; row < s.rows.output; ++row) {
    for (int64_t column = 0; column < s.columns.output; ++column) {
      Lane<T> sum = begin;
      meet(s, row, column, [&](int64_t tap, int64_t at) {
        sum += lane(t.input, at) * lane(t.kernel, tap);
      });
      set_lane(t.output, row * s.columns.output + column, sum);
    }
  }
  turn_out(y, t.output, channels, s.outputs());
}

template <class T>
void depthwise_input(T* dx, const T* dy, const T* w, const DepthwiseSizes& s,
                     int64_t channels) {
  Turned<T> t(s);
  turn_in(t.output, dy, channels, s.outputs());
  turn_in(t.kernel, w, channels, s.taps());
  for (int64_t i = 0; i < s.inputs(); ++i) set_lane(t.input, i, Lane<T>{});
  for (int64_t row = 0; row < s.rows.output; ++row) {
    for (int64_t column = 0; column < s.columns.output; ++column) {
      Lane<T> d = lane(t.output, row * s.columns.output + column);
      meet(s, row, column, [&](int64_t tap, int64_t at) {
        set_lane(t.input, at, lane(t.input, at) + d * lane(t.kernel, tap));
      });
    }
  }
  turn_out(dx, t.input, channels, s.inputs());
}

// Adds an image's sum for element (i, j) of the kernel, which is met by
// outputs `down` and `across`.
template <class T>
BRAID_INLINE void add_tap(Turned<T>& t, const DepthwiseSizes& s, int64_t i,
                          Range down, int64_t j, Range across) {
  Lane<T> sum = {};
  for (int64_t row = down.from; row < down.to; ++row) {
    int64_t to = row * s.columns.output;
    int64_t from = input_of(s.rows, row, i) * s.columns.input;
    for (int64_t column = across.from; column < across.to; ++column) {
      sum += lane(t.output, to + column) *
             lane(t.input, from + input_of(s.columns, column, j));
    }
  }
  int64_t tap = i * s.columns.kernel + j;
  set_lane(t.kernel, tap, lane(t.kernel, tap) + sum);
}

template <class T>
BRAID_INLINE void add_image(Turned<T>& t, const DepthwiseSizes& s) {
  for (int64_t i = 0; i < s.rows.kernel; ++i) {
    Range down = outputs(s.rows, i);
    if (down.from >= down.to) continue;
    for (int64_t j = 0; j < s.columns.kernel; ++j) {
      Range across = outputs(s.columns, j);
      if (across.from < across.to) add_tap(t, s, i, down, j, across);
    }
  }
}

template <class T>
void depthwise_weight(T* dw, const T* dy, const T* x, const DepthwiseSizes& s,
                      int64_t channels, const DepthwiseImages& images) {
  Turned<T> t(s);
  for (int64_t k = 0; k < s.taps(); ++k) set_lane(t.kernel, k, Lane<T>{});
  for (int64_t n = 0; n < images.count; ++n) {
    turn_in(t.input, x + n * images.x_step, channels, s.inputs());
    turn_in(t.output, dy + n * images.dy_step, channels, s.outputs());
    add_image(t, s);
  }
  turn_out(dw, t.kernel, channels, s.taps());
}

}  // namespace

template <class T>
void add_depthwise(LoopsOf<T>& loops) {
  loops.depthwise = depthwise<T>;
  loops.depthwise_input = depthwise_input<T>;
  loops.depthwise_weight = depthwise_weight<T>;
}

template void add_depthwise(LoopsOf<float>& loops);
template void add_depthwise(LoopsOf<double>& loops);

}  // namespace braid::runtime::BRAID_LEVEL
