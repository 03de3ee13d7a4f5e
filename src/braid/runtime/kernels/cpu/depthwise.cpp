// Convolutions in which every channel is on its own, of planes that are not
// large: x[N, C, S], w[C, 1, K], members that are apart lead with B. Channels
// are shared out among threads in blocks of a vector.
#include <algorithm>

#include "braid/runtime/kernels/cpu/cpu_kernels.h"
#include "braid/runtime/kernels/cpu/parallel_for.h"

namespace braid::runtime {
namespace {

constexpr int64_t kGrain = 16384;  // elements

// Of one or two spatial dimensions; `x` and `w` as the convolution has them.
struct Geometry {
  int64_t sets = 1, images = 0, channels = 0;
  DepthwiseSizes sizes;

  int64_t blocks() const {
    return (channels + kDepthwiseLanes - 1) / kDepthwiseLanes;
  }
  int64_t elements() const {
    return sizes.inputs() + sizes.outputs() + sizes.taps();
  }
};

// Block `b` of the channels.
struct Block {
  int64_t first, count;
};

Block block_of(const Geometry& g, int64_t b) {
  int64_t first = b * kDepthwiseLanes;
  return {first, std::min(kDepthwiseLanes, g.channels - first)};
}

Geometry geometry(const Call& c, const Tensor& x, const Tensor& w,
                  const Tensor& y) {
  Geometry g;
  size_t lead = c.members() > 0 ? 1 : 0, dims = x.shape.size() - lead - 2;
  g.sets = std::max<int64_t>(c.members(), 1);
  g.images = x.shape[lead];
  g.channels = x.shape[lead + 1];
  DepthwiseAxis* axes[] = {&g.sizes.rows, &g.sizes.columns};
  for (size_t d = 0; d < dims; ++d) {
    size_t at = lead + 2 + d;
    *axes[2 - dims + d] = {.input = x.shape[at],
                           .output = y.shape[at],
                           .kernel = w.shape[at],
                           .stride = c.attrs().ints("stride")[d],
                           .padding = c.attrs().ints("padding")[d],
                           .dilation = c.attrs().ints("dilation")[d]};
  }
  return g;
}

bool fits(const Call& c, const Tensor& x, const Tensor& w, const Tensor& y) {
  size_t lead = c.members() > 0 ? 1 : 0;
  bool plain = has_loops(x.dtype) && x.contiguous() && w.contiguous() &&
               y.contiguous() && x.numel() > 0 &&
               !c.attrs().flag_or("channels_last", false);
  bool alone = c.attrs().integer("groups") == x.shape[lead + 1] &&
               w.shape[lead] == x.shape[lead + 1] && w.shape[lead + 1] == 1;
  return plain && alone &&
         geometry(c, x, w, y).elements() <= kDepthwiseElements;
}

// work(set, image, block) for all of them.
template <class F>
void for_blocks(const Geometry& g, int64_t images, const F& work) {
  int64_t blocks = g.blocks();
  int64_t each = kDepthwiseLanes * g.elements() * g.images / images;
  parallel_for(g.sets * images * blocks, 1 + kGrain / each,
               [&](int64_t from, int64_t to) {
                 for (int64_t i = from; i < to; ++i) {
                   work(i / blocks / images, i / blocks % images,
                        block_of(g, i % blocks));
                 }
               });
}

template <class T>
Thunk forward(const Call& c, const LoopsOf<T>& loops) {
  Geometry g = geometry(c, c.in(0), c.in(1), c.out(0));
  return [g, loop = loops.depthwise, y = c.out(0).as<T>(), x = c.in(0).as<T>(),
          w = c.in(1).as<T>(), bias = c.has(2) ? c.in(2).as<T>() : nullptr] {
    for_blocks(g, g.images, [&](int64_t set, int64_t image, Block b) {
      int64_t plane = (set * g.images + image) * g.channels + b.first;
      int64_t channel = set * g.channels + b.first;
      loop(y + plane * g.sizes.outputs(), x + plane * g.sizes.inputs(),
           w + channel * g.sizes.taps(), bias ? bias + channel : nullptr,
           g.sizes, b.count);
    });
  };
}

template <class T>
Thunk backward_input(const Call& c, const LoopsOf<T>& loops) {
  Geometry g = geometry(c, c.out(0), c.in(1), c.in(0));
  return [g, loop = loops.depthwise_input, dx = c.out(0).as<T>(),
          dy = c.in(0).as<T>(), w = c.in(1).as<T>()] {
    for_blocks(g, g.images, [&](int64_t set, int64_t image, Block b) {
      int64_t plane = (set * g.images + image) * g.channels + b.first;
      int64_t channel = set * g.channels + b.first;
      loop(dx + plane * g.sizes.inputs(), dy + plane * g.sizes.outputs(),
           w + channel * g.sizes.taps(), g.sizes, b.count);
    });
  };
}

template <class T>
Thunk backward_weight(const Call& c, const LoopsOf<T>& loops) {
  Geometry g = geometry(c, c.in(1), c.out(0), c.in(0));
  DepthwiseImages images{.count = g.images,
                         .x_step = g.channels * g.sizes.inputs(),
                         .dy_step = g.channels * g.sizes.outputs()};
  return [g, images, loop = loops.depthwise_weight, dw = c.out(0).as<T>(),
          dy = c.in(0).as<T>(), x = c.in(1).as<T>()] {
    for_blocks(g, 1, [&](int64_t set, int64_t, Block b) {
      int64_t plane = set * g.images * g.channels + b.first;
      int64_t channel = set * g.channels + b.first;
      loop(dw + channel * g.sizes.taps(), dy + plane * g.sizes.outputs(),
           x + plane * g.sizes.inputs(), g.sizes, b.count, images);
    });
  };
}

}  // namespace

void add_cpu_depthwise(KernelTable& table, const Loops& loops) {
  for (std::string op : {"conv1d", "conv2d"}) {
    add_own(
        table, loops, op,
        [](const Call& c) { return fits(c, c.in(0), c.in(1), c.out(0)); },
        [](const Call& c, const auto& l) { return forward(c, l); });
    add_own(
        table, loops, op + "_backward_input",
        [](const Call& c) { return fits(c, c.out(0), c.in(1), c.in(0)); },
        [](const Call& c, const auto& l) { return backward_input(c, l); });
    add_own(
        table, loops, op + "_backward_weight",
        [](const Call& c) { return fits(c, c.in(1), c.out(0), c.in(0)); },
        [](const Call& c, const auto& l) { return backward_weight(c, l); });
  }
}

}  // namespace braid::runtime
