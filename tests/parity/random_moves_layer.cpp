#include "random_moves.h"

namespace braid::parity {
namespace {

using T = const at::Tensor&;

// Kernel sizes that fit the spatial sizes of x.
Ints kernel_of(Chooser& c, size_t x, int64_t dims) {
  Ints kernel;
  for (int64_t d = c.rank(x) - dims; d < c.rank(x); ++d) {
    kernel.push_back(c.between(1, std::min<int64_t>(c.value(x).size(d), 3)));
  }
  return kernel;
}

// Over x[N, C, ...] of one or two spatial dimensions.
Drawn draw_conv(Chooser& c) {
  int64_t dims = c.between(1, 2);
  size_t x = c.of_rank(dims + 2, dims + 2);
  int64_t channels = c.value(x).size(1);
  int64_t groups = c.chance(0.3) ? channels : 1;
  int64_t outputs = groups * c.between(1, 3);
  Conv o{.stride = {c.between(1, 2)},
         .padding = {c.between(0, 1)},
         .dilation = {1},
         .groups = groups};
  Shape shape{outputs, channels / groups};
  for (int64_t k : kernel_of(c, x, dims)) shape.push_back(k);
  bool biased = c.chance(0.6);
  std::vector<size_t> operands{x, c.of_shape(shape)};
  if (biased) operands.push_back(c.of_shape({outputs}));
  return step(
      operands,
      [=](const Vars& v) {
        Var b = biased ? v[2] : Var{};
        return dims == 1 ? conv1d(v[0], v[1], b, o) : conv2d(v[0], v[1], b, o);
      },
      [=](const Tensors& t) {
        auto b = biased ? std::optional(t[2]) : std::nullopt;
        return dims == 1 ? at::conv1d(t[0], t[1], b, o.stride, o.padding,
                                      o.dilation, o.groups)
                         : at::conv2d(t[0], t[1], b, o.stride, o.padding,
                                      o.dilation, o.groups);
      });
}

Drawn draw_conv_transpose(Chooser& c) {
  size_t x = c.of_rank(4, 4);
  Conv o{.stride = {c.between(1, 2)}};
  size_t w = c.of_shape({c.value(x).size(1), c.between(1, 3), 2, 1});
  return step(
      {x, w},
      [=](const Vars& v) { return conv_transpose2d(v[0], v[1], {}, o); },
      [=](const Tensors& t) {
        return at::conv_transpose2d(t[0], t[1], {}, o.stride);
      });
}

Drawn draw_conv_same(Chooser& c) {
  size_t x = c.of_rank(3, 3);
  size_t w = c.of_shape({c.between(1, 3), c.value(x).size(1), 3});
  return step(
      {x, w}, [](const Vars& v) { return conv_padded(v[0], v[1], {}, "same"); },
      [](const Tensors& t) { return at::conv1d(t[0], t[1], {}, 1, "same"); });
}

bool has_no_ties_at_all(const Chooser& c, size_t x) {
  for (const at::Tensor& t : c.trials(x)) {
    at::Tensor gaps = at::diff(std::get<0>(t.flatten().sort(0)));
    if (gaps.numel() > 0 && gaps.min().item<double>() < 1e-5) return false;
  }
  return true;
}

Drawn draw_max_pool(Chooser& c) {
  int64_t dims = c.between(1, 2);
  size_t x = c.of_rank(dims + 2, dims + 2);
  if (!has_no_ties_at_all(c, x)) return {};
  Pool o{.kernel = kernel_of(c, x, dims), .stride = Ints(dims, 1)};
  if (c.chance(0.5)) o.stride = o.kernel;
  return step(
      {x},
      [=](const Vars& v) {
        return dims == 1 ? max_pool1d(v[0], o) : max_pool2d(v[0], o);
      },
      [=](const Tensors& t) {
        return dims == 1 ? at::max_pool1d(t[0], o.kernel, o.stride)
                         : at::max_pool2d(t[0], o.kernel, o.stride);
      });
}

Drawn draw_avg_pool(Chooser& c) {
  int64_t dims = c.between(1, 2);
  size_t x = c.of_rank(dims + 2, dims + 2);
  Pool o{.kernel = kernel_of(c, x, dims), .stride = Ints(dims, 1)};
  o.ceil_mode = c.chance(0.3);
  return step(
      {x},
      [=](const Vars& v) {
        return dims == 1 ? avg_pool1d(v[0], o) : avg_pool2d(v[0], o);
      },
      [=](const Tensors& t) {
        return dims == 1
                   ? at::avg_pool1d(t[0], o.kernel, o.stride, 0, o.ceil_mode)
                   : at::avg_pool2d(t[0], o.kernel, o.stride, 0, o.ceil_mode);
      });
}

Drawn draw_adaptive_pool(Chooser& c) {
  size_t x = c.of_rank(4, 4);
  Ints size{c.between(1, 3), c.between(1, 3)};
  if (c.chance(0.5) && has_no_ties_at_all(c, x)) {
    return step(
        {x}, [=](const Vars& v) { return adaptive_max_pool2d(v[0], size).y; },
        [=](const Tensors& t) {
          return std::get<0>(at::adaptive_max_pool2d(t[0], size));
        });
  }
  return step(
      {x}, [=](const Vars& v) { return adaptive_avg_pool2d(v[0], size); },
      [=](const Tensors& t) { return at::adaptive_avg_pool2d(t[0], size); });
}

// The slot that a value reads.
SlotId slot_of(Var v) {
  return v.graph->node(v.graph->value(v.id).producer).slot;
}

// With running statistics; libtorch changes them in place.
Drawn draw_batch_norm(Chooser& c) {
  size_t x = c.of_rank(2, 4);
  Shape channels{c.value(x).size(1)};
  if (c.value(x).numel() <= channels[0]) return {};
  size_t w = c.positive(channels), b = c.of_shape(channels);
  size_t mean = c.buffer(channels, 0), var = c.buffer(channels, 0.5);
  bool training = c.chance(0.8);
  return step(
      {x, w, b, mean, var},
      [=](const Vars& v) {
        Normed n = batch_norm(v[0], v[1], v[2], v[3], v[4],
                              {.training = training, .eps = 0.01});
        if (training) assign(slot_of(v[3]), n.running_mean);
        if (training) assign(slot_of(v[4]), n.running_var);
        return n.y;
      },
      [=](const Tensors& t) {
        return at::batch_norm(t[0], t[1], t[2], t[3], t[4], training, 0.1, 0.01,
                              false);
      });
}

Drawn draw_plain_batch_norm(Chooser& c) {
  size_t x = c.of_rank(2, 4);
  if (c.value(x).numel() <= c.value(x).size(1)) return {};
  return step(
      {x},
      [](const Vars& v) {
        return batch_norm(v[0], {}, {}, {}, {}, {.eps = 0.01}).y;
      },
      [](const Tensors& t) {
        return at::batch_norm(t[0], {}, {}, {}, {}, true, 0.1, 0.01, false);
      });
}

Drawn draw_instance_norm(Chooser& c) {
  size_t x = c.of_rank(3, 4);
  Shape s = c.shape(x);
  if (num_elements(s) <= s[0] * s[1]) return {};
  return step(
      {x},
      [](const Vars& v) {
        return instance_norm(v[0], {}, {}, {}, {}, {.eps = 0.01}).y;
      },
      [](const Tensors& t) {
        return at::instance_norm(t[0], {}, {}, {}, {}, true, 0.1, 0.01, false);
      });
}

Drawn draw_layer_norm(Chooser& c) {
  size_t x = c.of_rank(1, 4);
  int64_t dims = c.between(1, std::min<int64_t>(c.rank(x), 2));
  Shape all = c.shape(x), sizes{all.end() - dims, all.end()};
  if (c.chance(0.3)) {
    return step(
        {x},
        [=](const Vars& v) { return layer_norm(v[0], {}, {}, 0.01, dims); },
        [=](const Tensors& t) {
          return at::layer_norm(t[0], sizes, {}, {}, 0.01);
        });
  }
  return step(
      {x, c.of_shape(sizes), c.of_shape(sizes)},
      [=](const Vars& v) { return layer_norm(v[0], v[1], v[2], 0.01, dims); },
      [=](const Tensors& t) {
        return at::layer_norm(t[0], sizes, t[1], t[2], 0.01);
      });
}

Drawn draw_rms_norm(Chooser& c) {
  size_t x = c.of_rank(1, 4);
  Ints sizes{c.value(x).size(-1)};
  return step(
      {x, c.of_shape(sizes)},
      [](const Vars& v) { return rms_norm(v[0], v[1], 0.01); },
      [=](const Tensors& t) { return at::rms_norm(t[0], sizes, t[1], 0.01); });
}

Drawn draw_group_norm(Chooser& c) {
  size_t x = c.of_rank(2, 4);
  int64_t channels = c.value(x).size(1);
  int64_t groups = channels % 2 == 0 ? 2 : 1;
  if (c.value(x).numel() <= c.value(x).size(0) * groups) return {};
  return step(
      {x, c.of_shape({channels}), c.of_shape({channels})},
      [=](const Vars& v) { return group_norm(v[0], groups, v[1], v[2], 0.01); },
      [=](const Tensors& t) {
        return at::group_norm(t[0], groups, t[1], t[2], 0.01);
      });
}

Drawn draw_prelu(Chooser& c) {
  size_t x = c.of_rank(2, 4);
  if (!is_clear_of(c, x, 0)) return {};
  Shape weights{c.chance(0.5) ? 1 : c.value(x).size(1)};
  return step(
      {x, c.of_shape(weights)}, [](const Vars& v) { return prelu(v[0], v[1]); },
      [](const Tensors& t) { return at::prelu(t[0], t[1]); });
}

Drawn draw_glu(Chooser& c) {
  auto x = c.find_float(
      [](T t) { return t.dim() > 0 && t.size(-1) % 2 == 0 && t.numel() > 0; });
  if (!x) return {};
  return step(
      {*x}, [](const Vars& v) { return glu(v[0]); },
      [](const Tensors& t) { return at::glu(t[0]); });
}

Drawn draw_im2col(Chooser& c) {
  size_t x = c.of_rank(4, 4);
  Windows w{.kernel = kernel_of(c, x, 2), .padding = {1, 0}};
  return step(
      {x}, [=](const Vars& v) { return im2col(v[0], w); },
      [=](const Tensors& t) {
        return at::im2col(t[0], w.kernel, w.dilation, w.padding, w.stride);
      });
}

Drawn draw_upsample(Chooser& c) {
  size_t x = c.of_rank(4, 4);
  Ints size{c.between(1, 5), c.between(1, 5)};
  if (c.chance(0.5)) {
    return step(
        {x},
        [=](const Vars& v) {
          return upsample(v[0], {.mode = "nearest", .size = size});
        },
        [=](const Tensors& t) { return at::upsample_nearest2d(t[0], size); });
  }
  return step(
      {x},
      [=](const Vars& v) {
        return upsample(v[0], {.mode = "bilinear", .size = size});
      },
      [=](const Tensors& t) {
        return at::upsample_bilinear2d(t[0], size, false);
      });
}

// A layer of cells over x[T, N, I].
Drawn draw_recurrent(Chooser& c) {
  if (!c.chance(0.4)) return {};
  size_t x = c.of_rank(3, 3);
  int64_t units = c.between(1, 3), inputs = c.value(x).size(2);
  bool is_lstm = c.chance(0.5), both = c.chance(0.3);
  int64_t rows = units * (is_lstm ? 4 : 3);
  std::vector<size_t> operands{x};
  for (int i = 0; i < (both ? 2 : 1); ++i) {
    operands.push_back(c.of_shape({rows, inputs}));
    operands.push_back(c.of_shape({rows, units}));
    operands.push_back(c.of_shape({rows}));
    operands.push_back(c.of_shape({rows}));
  }
  Shape state{both ? 2 : 1, c.value(x).size(1), units};
  return step(
      operands,
      [=](const Vars& v) {
        Vars w(v.begin() + 1, v.end());
        Recurrent o{.bidirectional = both};
        return is_lstm ? lstm(v[0], {}, {}, w, o).y : gru(v[0], {}, w, o).y;
      },
      [=](const Tensors& t) {
        Tensors w(t.begin() + 1, t.end());
        at::Tensor h = at::zeros(state, t[0].options());
        return is_lstm ? std::get<0>(at::lstm(t[0], {h, h}, w, true, 1, 0.0,
                                              true, both, false))
                       : std::get<0>(at::gru(t[0], h, w, true, 1, 0.0, true,
                                             both, false));
      });
}

}  // namespace

void add_layer_moves(std::vector<Move>& moves) {
  moves.insert(moves.end(), {{"conv", draw_conv},
                             {"conv_transpose", draw_conv_transpose},
                             {"conv same", draw_conv_same},
                             {"max_pool", draw_max_pool},
                             {"avg_pool", draw_avg_pool},
                             {"adaptive_pool", draw_adaptive_pool},
                             {"batch_norm", draw_batch_norm},
                             {"plain batch_norm", draw_plain_batch_norm},
                             {"instance_norm", draw_instance_norm},
                             {"layer_norm", draw_layer_norm},
                             {"rms_norm", draw_rms_norm},
                             {"group_norm", draw_group_norm},
                             {"prelu", draw_prelu},
                             {"glu", draw_glu},
                             {"im2col", draw_im2col},
                             {"upsample", draw_upsample},
                             {"recurrent", draw_recurrent}});
}

}  // namespace braid::parity
