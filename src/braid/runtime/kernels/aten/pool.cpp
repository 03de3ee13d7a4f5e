// Pooling. One spatial dimension is pooled as the last of two, as libtorch
// does. Inputs are brought to the order of the output: for channels that lie
// last libtorch would want outputs that lie so too. Backward functions ask for
// the input only to learn its shape; the output stands in.
#include <fmt/format.h>

#include <algorithm>

#include "braid/runtime/kernels/aten/bind.h"
#include "braid/runtime/kernels/aten/separable.h"

namespace braid::runtime {
namespace {

at::Tensor lifted(const at::Tensor& x) {
  return x.dim() == 3 ? x.unsqueeze(2) : x;
}

Ints lifted(Ints list, int64_t first) {
  if (list.size() == 1) list.insert(list.begin(), first);
  return list;
}

struct Window {
  explicit Window(const Attrs& a)
      : kernel(lifted(a.ints("kernel"), 1)),
        stride(lifted(a.ints("stride"), 1)),
        padding(lifted(a.ints("padding"), 0)),
        dilation(kernel.size(), 1),
        ceil(a.flag_or("ceil_mode", false)),
        count_padding(a.flag_or("count_include_pad", true)) {
    if (a.has("dilation")) dilation = lifted(a.ints("dilation"), 1);
    if (a.has("divisor_override")) divisor = a.integer("divisor_override");
  }
  Ints kernel, stride, padding, dilation;
  bool ceil, count_padding;
  std::optional<int64_t> divisor;
};

bool is_volume(const at::Tensor& x) { return x.dim() == 5; }

// The graph says where channels lie by the strides of the output.
bool has_channels_last(const at::Tensor& y) {
  return y.dim() == 4 && !y.is_contiguous() &&
         y.is_contiguous(at::MemoryFormat::ChannelsLast);
}

at::Tensor channels_last(const at::Tensor& x) {
  return x.contiguous(at::MemoryFormat::ChannelsLast);
}

void max_pool_last(Bound& b, const Window& w) {
  at::Tensor places = at::empty_like(b.out[1], b.out[1].options(),
                                     at::MemoryFormat::ChannelsLast);
  at::max_pool2d_with_indices_out(b.out[0], places, channels_last(b.in[0]),
                                  w.kernel, w.stride, w.padding, w.dilation,
                                  w.ceil);
  b.out[1].copy_(places);
}

void max_pool(Bound& b) {
  Window w(b.attrs());
  if (has_channels_last(b.out[0])) return max_pool_last(b, w);
  at::Tensor x = lifted(b.in[0]).contiguous();
  at::Tensor y = lifted(b.out[0]), places = lifted(b.out[1]);
  if (is_volume(x)) {
    at::max_pool3d_with_indices_out(y, places, x, w.kernel, w.stride, w.padding,
                                    w.dilation, w.ceil);
  } else {
    at::max_pool2d_with_indices_out(y, places, x, w.kernel, w.stride, w.padding,
                                    w.dilation, w.ceil);
  }
}

// Every window of x[N, C, ...] laid out: [N, C, outputs..., elements], with
// `fill` beyond the borders.
at::Tensor windows(const Window& w, at::Tensor x, const at::Tensor& y,
                   int64_t fill) {
  auto dims = static_cast<int64_t>(w.kernel.size());
  Ints reach, pads;
  for (int64_t d = dims - 1; d >= 0; --d) {
    auto at = static_cast<size_t>(d);
    reach.insert(reach.begin(), w.dilation[at] * (w.kernel[at] - 1) + 1);
    int64_t span = (y.size(d + 2) - 1) * w.stride[at] + reach[0];
    pads.push_back(w.padding[at]);
    pads.push_back(span - w.padding[at] - x.size(d + 2));
  }
  x = at::constant_pad_nd(x, pads, fill);
  for (int64_t d = 0; d < dims; ++d) {
    auto at = static_cast<size_t>(d);
    x = x.unfold(d + 2, reach[at], w.stride[at]);
  }
  for (int64_t d = 0; d < dims; ++d) {
    x = x.slice(2 + dims + d, 0, std::nullopt,
                w.dilation[static_cast<size_t>(d)]);
  }
  return x.flatten(2 + dims);
}

// For CUDA, where libtorch has no such kernel.
void max_pool_integers(Bound& b) {
  Window w(b.attrs());
  at::Tensor x = lifted(b.in[0]), y = lifted(b.out[0]);
  if (y.numel() == 0) return;
  int64_t lowest = std::numeric_limits<int64_t>::lowest();
  auto [most, at] = windows(w, x.to(at::kLong), y, lowest).max(-1, true);
  Shape map(x.sizes().begin(), x.sizes().end());
  map[0] = map[1] = 1;
  at::Tensor places = windows(
      w, at::arange(c10::multiply_integers(map), at.options()).view(map), y, 0);
  Shape all(y.sizes().begin(), y.sizes().end());
  all.push_back(places.size(-1));
  y.copy_(most.squeeze(-1));
  lifted(b.out[1]).copy_(places.expand(all).gather(-1, at).squeeze(-1));
}

void max_pool_backward(Bound& b) {
  Window w(b.attrs());
  if (has_channels_last(b.out[0])) {
    at::max_pool2d_with_indices_backward_out(
        b.out[0], channels_last(b.in[0]), b.out[0], w.kernel, w.stride,
        w.padding, w.dilation, w.ceil, channels_last(b.in[1]));
    return;
  }
  at::Tensor dx = lifted(b.out[0]), dy = lifted(b.in[0]).contiguous();
  at::Tensor places = lifted(b.in[1]).contiguous();
  if (is_volume(dx)) {
    at::max_pool3d_with_indices_backward_out(
        dx, dy, dx, w.kernel, w.stride, w.padding, w.dilation, w.ceil, places);
  } else {
    at::max_pool2d_with_indices_backward_out(
        dx, dy, dx, w.kernel, w.stride, w.padding, w.dilation, w.ceil, places);
  }
}

void avg_pool(const Window& w, at::Tensor y, const at::Tensor& x) {
  if (is_volume(x)) {
    at::avg_pool3d_out(y, x, w.kernel, w.stride, w.padding, w.ceil,
                       w.count_padding, w.divisor);
  } else {
    at::avg_pool2d_out(y, x, w.kernel, w.stride, w.padding, w.ceil,
                       w.count_padding, w.divisor);
  }
}

void avg_pool_backward(Bound& b) {
  Window w(b.attrs());
  at::Tensor dx = lifted(b.out[0]), dy = lifted(b.in[0]).contiguous();
  if (is_volume(dx)) {
    at::avg_pool3d_backward_out(dx, dy, dx, w.kernel, w.stride, w.padding,
                                w.ceil, w.count_padding, w.divisor);
  } else {
    at::avg_pool2d_backward_out(dx, dy, dx, w.kernel, w.stride, w.padding,
                                w.ceil, w.count_padding, w.divisor);
  }
}

void adaptive_max(Bound& b) {
  Ints size = lifted(b.attrs().ints("size"), 1);
  at::Tensor x = lifted(b.in[0]).contiguous();
  at::Tensor y = lifted(b.out[0]), places = lifted(b.out[1]);
  if (is_volume(x)) {
    at::adaptive_max_pool3d_out(y, places, x, size);
  } else {
    at::adaptive_max_pool2d_out(y, places, x, size);
  }
}

void adaptive_max_backward(Bound& b) {
  at::Tensor dx = lifted(b.out[0]), dy = lifted(b.in[0]).contiguous();
  at::Tensor places = lifted(b.in[1]).contiguous();
  if (is_volume(dx)) {
    at::adaptive_max_pool3d_backward_out(dx, dy, dx, places);
  } else {
    at::adaptive_max_pool2d_backward_out(dx, dy, dx, places);
  }
}

void adaptive_avg(const Ints& size, at::Tensor y, const at::Tensor& x) {
  if (is_volume(x)) {
    at::adaptive_avg_pool3d_out(y, x, size);
  } else {
    at::adaptive_avg_pool2d_out(y, x, size);
  }
}

void adaptive_avg_backward(Bound& b) {
  at::Tensor dx = lifted(b.out[0]), dy = lifted(b.in[0]).contiguous();
  dx.copy_(is_volume(dx) ? at::_adaptive_avg_pool3d_backward(dy, dx)
                         : at::_adaptive_avg_pool2d_backward(dy, dx));
}

// What follows is for CUDA, where libtorch adds gradients of windows that
// overlap in no fixed order.

// Adds dy at the chosen places. Windows that lie `apart` outputs apart never
// share a place; one class of such windows after the other is added.
void add_at_places(at::Tensor dx, const at::Tensor& dy,
                   const at::Tensor& places, const Ints& apart) {
  at::Tensor flat = dx.zero_().flatten(2);
  int64_t classes = c10::multiply_integers(apart);
  for (int64_t k = 0; k < classes; ++k) {
    at::Tensor some_dy = dy, some_places = places;
    int64_t rest = k, dim = 2;
    for (int64_t step : apart) {
      some_dy = some_dy.slice(dim, rest % step, std::nullopt, step);
      some_places = some_places.slice(dim, rest % step, std::nullopt, step);
      rest /= step;
      ++dim;
    }
    flat.scatter_add_(2, some_places.flatten(2), some_dy.flatten(2));
  }
}

void max_pool_backward_in_order(Bound& b) {
  Window w(b.attrs());
  at::Tensor dx = lifted(b.out[0]), dy = lifted(b.in[0]);
  Ints apart;
  for (size_t d = 0; d < w.kernel.size(); ++d) {
    int64_t reach = w.dilation[d] * (w.kernel[d] - 1) + 1;
    int64_t outputs = dy.size(static_cast<int64_t>(d) + 2);
    int64_t needed = (reach + w.stride[d] - 1) / w.stride[d];
    apart.push_back(std::clamp<int64_t>(needed, 1, outputs));
  }
  add_at_places(dx, dy, lifted(b.in[1]), apart);
}

// The least distance at which adaptive windows do not overlap.
int64_t adaptive_distance(int64_t inputs, int64_t outputs) {
  int64_t distance = 1;
  for (int64_t o = 0; o < outputs; ++o) {
    int64_t end = ((o + 1) * inputs + outputs - 1) / outputs;
    while (o + distance < outputs && (o + distance) * inputs / outputs < end) {
      ++distance;
    }
  }
  return distance;
}

void adaptive_max_backward_in_order(Bound& b) {
  at::Tensor dx = lifted(b.out[0]), dy = lifted(b.in[0]);
  Ints apart;
  for (int64_t d = 2; d < dx.dim(); ++d) {
    apart.push_back(adaptive_distance(dx.size(d), dy.size(d)));
  }
  add_at_places(dx, dy, lifted(b.in[1]), apart);
}

// [I, O]: what one dimension of a pool makes of each unit vector.
template <class Pool>
at::Tensor pool_matrix(const at::Tensor& like, int64_t inputs, int64_t outputs,
                       Pool pool) {
  at::Tensor units = at::eye(inputs, like.options()).view({inputs, 1, 1, -1});
  at::Tensor result = at::empty({inputs, 1, 1, outputs}, like.options());
  pool(result, units);
  return result.view({inputs, outputs});
}

// The window of one dimension; a given divisor is left to the first.
Window along(Window w, size_t d) {
  w.kernel = {1, w.kernel[d]};
  w.stride = {1, w.stride[d]};
  w.padding = {0, w.padding[d]};
  if (w.divisor && d > 0) w.divisor = 1;
  return w;
}

void avg_pool_backward_in_order(Bound& b) {
  Window w(b.attrs());
  at::Tensor dx = lifted(b.out[0]), dy = lifted(b.in[0]);
  std::vector<at::Tensor> matrices;
  for (size_t d = 0; d < w.kernel.size(); ++d) {
    auto dim = static_cast<int64_t>(d) + 2;
    matrices.push_back(
        pool_matrix(dy, dx.size(dim), dy.size(dim),
                    [&](auto& y, auto& x) { avg_pool(along(w, d), y, x); }));
  }
  dx.copy_(separable_backward(dy, matrices));
}

void adaptive_avg_backward_in_order(Bound& b) {
  at::Tensor dx = lifted(b.out[0]), dy = lifted(b.in[0]);
  std::vector<at::Tensor> matrices;
  for (int64_t dim = 2; dim < dx.dim(); ++dim) {
    matrices.push_back(
        pool_matrix(dy, dx.size(dim), dy.size(dim), [&](auto& y, auto& x) {
          adaptive_avg({1, dy.size(dim)}, y, x);
        }));
  }
  dx.copy_(separable_backward(dy, matrices));
}

}  // namespace

void add_aten_pool(KernelTable& table, at::Device device) {
  bool cuda = device.is_cuda();
  for (int dims : {1, 2, 3}) {
    auto add = [&](const char* op, const char* end, Body body) {
      table.add(fmt::format("{}{}d{}", op, dims, end),
                aten_kernel(device, std::move(body)));
    };
    // In one and two dimensions windows of a fixed size gather gradients.
    bool scatters = cuda && dims == 3;
    add("max_pool", "", [cuda](Bound& b) {
      bool integers = cuda && !b.in[0].is_floating_point();
      integers ? max_pool_integers(b) : max_pool(b);
    });
    add("max_pool", "_backward",
        scatters ? max_pool_backward_in_order : max_pool_backward);
    add("avg_pool", "", [](Bound& b) {
      avg_pool(Window(b.attrs()), lifted(b.out[0]),
               lifted(b.in[0]).contiguous());
    });
    add("avg_pool", "_backward",
        scatters ? avg_pool_backward_in_order : avg_pool_backward);
    add("adaptive_max_pool", "", adaptive_max);
    add("adaptive_max_pool", "_backward",
        cuda ? adaptive_max_backward_in_order : adaptive_max_backward);
    add("adaptive_avg_pool", "", [](Bound& b) {
      adaptive_avg(lifted(b.attrs().ints("size"), 1), lifted(b.out[0]),
                   lifted(b.in[0]).contiguous());
    });
    add("adaptive_avg_pool", "_backward",
        cuda ? adaptive_avg_backward_in_order : adaptive_avg_backward);
  }
}

}  // namespace braid::runtime
