// Batch normalisation of x[N, C, S], or x[B, N, C, S] of B members, in
// training, S being all places of a channel. A block is some whole channels, or
// a part of one, side by side: its places are columns that are summed over the
// batch, so it is in cache when it is read again. Channels never share a sum: a
// member of an array gets the bits that it gets alone.
#include <cmath>

#include "braid/runtime/kernels/cpu/cpu_kernels.h"
#include "braid/runtime/kernels/cpu/parallel_for.h"

namespace braid::runtime {
namespace {

constexpr int64_t kColumns = 512;  // most columns of a block

struct Sizes {
  int64_t members, batch, channels, places;
  int64_t count() const { return batch * places; }  // numbers of a channel
  int64_t step() const { return channels * places; }
  // Channels of a block, and blocks of a member.
  int64_t block() const { return std::max<int64_t>(1, kColumns / places); }
  int64_t num_blocks() const { return (channels + block() - 1) / block(); }
};

Sizes sizes_of(const Call& c, const Tensor& x) {
  int64_t members = c.attrs().integer_or("members", 0);
  size_t batch = members > 0 ? 1 : 0;
  Sizes sizes{std::max<int64_t>(members, 1), x.shape[batch], x.shape[batch + 1],
              1};
  for (size_t d = batch + 2; d < x.shape.size(); ++d) {
    sizes.places *= x.shape[d];
  }
  return sizes;
}

// Channels [first, first + count) of a member; places are cut into pieces when
// one channel is wider than a block.
struct Block {
  const Sizes& sizes;
  int64_t member, first, count;

  // Where the numbers of the block's channels begin.
  int64_t channel() const { return member * sizes.channels + first; }

  // run(offset of the piece in x, its columns).
  template <class F>
  void each_piece(const F& run) const {
    int64_t width = count * sizes.places;
    int64_t begin = member * sizes.batch * sizes.step() + first * sizes.places;
    for (int64_t at = 0; at < width; at += kColumns) {
      run(begin + at, std::min(kColumns, width - at));
    }
  }

  // wide[columns] = the number of the channel that each column belongs to.
  template <class T>
  void widen(T* wide, const T* values, int64_t columns) const {
    if (sizes.places == 1) {
      std::copy_n(values, columns, wide);
    } else if (count == 1) {
      std::fill_n(wide, columns, values[0]);
    } else {
      for (int64_t c = 0; c < count; ++c) {
        std::fill_n(wide + c * sizes.places, sizes.places, values[c]);
      }
    }
  }

  // totals[count] += the sums of the columns of each channel, in a fixed
  // order.
  void add(double* totals, const double* sums, int64_t columns) const {
    int64_t width = count == 1 ? columns : sizes.places;
    for (int64_t c = 0; c < count; ++c) totals[c] += row_sum(sums, width, c);
  }

  static double row_sum(const double* sums, int64_t width, int64_t c) {
    constexpr int64_t kLanes = 4;
    const double* row = sums + c * width;
    double lanes[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= width; i += kLanes) {
      for (int64_t l = 0; l < kLanes; ++l) lanes[l] += row[i + l];
    }
    for (; i < width; ++i) lanes[0] += row[i];
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
  }
};

template <class T>
struct Forward {
  Forward(const Call& c, const LoopsOf<T>& l)
      : loops(l),
        sizes(sizes_of(c, c.in(0))),
        x(c.in(0).as<T>()),
        y(c.out(0).as<T>()),
        mean(c.out(1).as<T>()),
        rstd(c.out(2).as<T>()),
        eps(c.attrs().number("eps")),
        momentum(c.attrs().number("momentum")) {
    if (c.has(1)) w = c.in(1).as<T>();
    if (c.has(2)) b = c.in(2).as<T>();
    if (c.outputs.size() < 5) return;
    for (size_t i : {0, 1}) {
      before[i] = c.in(3 + i).as<T>();
      after[i] = c.out(3 + i).as<T>();
    }
  }

  // New running statistics of a channel; the variance is without bias.
  void follow(int64_t channel, double m, double squares) const {
    if (!before[0]) return;
    double var = squares / static_cast<double>(sizes.count() - 1);
    auto mix = [&](size_t i, double now) {
      auto old = static_cast<double>(before[i][channel]);
      after[i][channel] = static_cast<T>(momentum * now + (1 - momentum) * old);
    };
    mix(0, m);
    mix(1, var);
  }

  void run(const Block& block) const {
    double sums[kColumns], totals[kColumns] = {};
    T scale[kColumns], shift[kColumns], wide[kColumns], other[kColumns];
    auto n = static_cast<double>(sizes.count());
    block.each_piece([&](int64_t at, int64_t columns) {
      loops.column_sums(sums, x + at, sizes.batch, columns, sizes.step());
      block.add(totals, sums, columns);
    });
    T* means = mean + block.channel();
    for (int64_t c = 0; c < block.count; ++c) {
      means[c] = static_cast<T>(totals[c] / n);
    }
    std::fill_n(totals, block.count, 0.0);
    block.each_piece([&](int64_t at, int64_t columns) {
      block.widen(wide, means, columns);
      loops.column_squares(sums, x + at, wide, sizes.batch, columns,
                           sizes.step());
      block.add(totals, sums, columns);
    });
    for (int64_t c = 0; c < block.count; ++c) {
      int64_t channel = block.channel() + c;
      double inverse = 1 / std::sqrt(totals[c] / n + eps);
      rstd[channel] = static_cast<T>(inverse);
      follow(channel, static_cast<double>(means[c]), totals[c]);
      scale[c] = rstd[channel] * (w ? w[channel] : T(1));
      shift[c] = (b ? b[channel] : T(0)) - means[c] * scale[c];
    }
    block.each_piece([&](int64_t at, int64_t columns) {
      block.widen(wide, scale, columns);
      block.widen(other, shift, columns);
      loops.scale_columns(y + at, x + at, wide, other, sizes.batch, columns,
                          sizes.step());
    });
  }

  LoopsOf<T> loops;
  Sizes sizes;
  const T *x, *w = nullptr, *b = nullptr, *before[2] = {};
  T *y, *mean, *rstd, *after[2] = {};
  double eps, momentum;
};

template <class T>
struct Backward {
  Backward(const Call& c, const LoopsOf<T>& l)
      : loops(l),
        sizes(sizes_of(c, c.in(1))),
        dy(c.in(0).as<T>()),
        x(c.in(1).as<T>()),
        w(c.has(2) ? c.in(2).as<T>() : nullptr),
        mean(c.in(3).as<T>()),
        rstd(c.in(4).as<T>()),
        dx(c.out(0).as<T>()),
        dw(c.out(1).as<T>()),
        db(c.out(2).as<T>()) {}

  void run(const Block& block) const {
    double sums[kColumns], dots[kColumns];
    double total[kColumns] = {}, along[kColumns] = {};
    T slope[kColumns], shift[kColumns], scale[kColumns], wide[4][kColumns];
    const T* means = mean + block.channel();
    block.each_piece([&](int64_t at, int64_t columns) {
      block.widen(wide[0], means, columns);
      loops.column_pairs(sums, dots, dy + at, x + at, wide[0], sizes.batch,
                         columns, sizes.step());
      block.add(total, sums, columns);
      block.add(along, dots, columns);
    });
    auto n = static_cast<double>(sizes.count());
    for (int64_t c = 0; c < block.count; ++c) {
      int64_t channel = block.channel() + c;
      auto r = static_cast<double>(rstd[channel]);
      dw[channel] = w ? static_cast<T>(along[c] * r) : T(0);
      db[channel] = w ? static_cast<T>(total[c]) : T(0);
      slope[c] = static_cast<T>(along[c] * r * r / n);
      shift[c] = static_cast<T>(total[c] / n);
      scale[c] = rstd[channel] * (w ? w[channel] : T(1));
    }
    block.each_piece([&](int64_t at, int64_t columns) {
      block.widen(wide[0], means, columns);
      block.widen(wide[1], slope, columns);
      block.widen(wide[2], shift, columns);
      block.widen(wide[3], scale, columns);
      loops.norm_columns_backward(dx + at, dy + at, x + at,
                                  {wide[0], wide[1], wide[2], wide[3]},
                                  sizes.batch, columns, sizes.step());
    });
  }

  LoopsOf<T> loops;
  Sizes sizes;
  const T *dy, *x, *w, *mean, *rstd;
  T *dx, *dw, *db;
};

// All blocks of a call, shared out among threads.
template <class Pass>
Thunk make_run(const Pass& pass) {
  const Sizes& s = pass.sizes;
  int64_t grain = 1 + 32768 / (s.count() * s.block() + 1);
  return [pass, grain] {
    const Sizes& sizes = pass.sizes;
    int64_t blocks = sizes.num_blocks();
    parallel_for(sizes.members * blocks, grain, [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) {
        int64_t first = i % blocks * sizes.block();
        pass.run(Block{sizes, i / blocks, first,
                       std::min(sizes.block(), sizes.channels - first)});
      }
    });
  };
}

// In training, of more than one number per channel, all rows dense.
bool is_plain(const Call& c, const Tensor& x) {
  bool plain = c.attrs().flag("training") && sizes_of(c, x).count() > 1 &&
               has_loops(x.dtype);
  for (size_t i = 0; i < c.inputs.size() && plain; ++i) {
    plain = !c.has(i) || c.in(i).contiguous();
  }
  for (size_t i = 0; i < c.outputs.size() && plain; ++i) {
    plain = c.out(i).contiguous();
  }
  return plain;
}

template <template <class> class Pass>
void add(KernelTable& table, const Loops& loops, const char* op, size_t x) {
  add_own(
      table, loops, op, [x](const Call& c) { return is_plain(c, c.in(x)); },
      []<class T>(const Call& c, const LoopsOf<T>& l) {
        return make_run(Pass<T>(c, l));
      });
}

}  // namespace

void add_cpu_batch_norm(KernelTable& table, const Loops& loops) {
  add<Forward>(table, loops, "batch_norm", 0);
  add<Backward>(table, loops, "batch_norm_backward", 1);
}

}  // namespace braid::runtime
