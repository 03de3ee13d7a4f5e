#include <cmath>
#include <limits>

#include "braid/base/rng.h"
#include "braid/runtime/kernels/aten/bind.h"
#include "braid/runtime/kernels/cpu/cpu_kernels.h"
#include "braid/runtime/kernels/cpu/parallel_for.h"

namespace braid::runtime {
namespace {

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

// Random words at and above this one keep their element.
uint64_t first_kept(double p) {
  return static_cast<uint64_t>(std::ceil(p * 4294967296.0));
}

// Narrow values are scaled in f32.
template <class T>
void keep(T* y, const T* x, const uint32_t* words, uint32_t kept, double factor,
          int64_t count, const Loops& loops) {
  if constexpr (std::is_same_v<T, Wide<T>>) {
    loops.of<T>().drop(y, x, words, kept, static_cast<T>(factor), count);
  } else {
    auto wide = static_cast<float>(factor);
    for (int64_t i = 0; i < count; ++i) {
      y[i] = words[i] >= kept ? static_cast<T>(x[i] * wide) : T(0);
    }
  }
}

// Elements [first, first + count), at most kTile, `first` a multiple of 4.
constexpr int64_t kTile = 1024;

template <class T>
void drop_tile(T* y, const T* x, int64_t first, int64_t count, double p,
               DrawKey key, const Loops& loops) {
  uint64_t kept = first_kept(p);
  if (kept > std::numeric_limits<uint32_t>::max()) {  // p is 1
    std::fill_n(y + first, count, T(0));
    return;
  }
  uint32_t words[kTile];
  loops.random_words(words, key.key, key.moment,
                     static_cast<uint64_t>(first / 4), (count + 3) / 4);
  keep(y + first, x + first, words, static_cast<uint32_t>(kept), 1 / (1 - p),
       count, loops);
}

template <class T>
void drop(T* y, const T* x, int64_t count, double p, DrawKey key,
          const Loops& loops) {
  int64_t tiles = (count + kTile - 1) / kTile;
  parallel_for(tiles, 4, [&](int64_t from, int64_t to) {
    for (int64_t tile = from; tile < to; ++tile) {
      int64_t first = tile * kTile;
      drop_tile(y, x, first, std::min(kTile, count - first), p, key, loops);
    }
  });
}

template <class T>
void run_dropout(const Call& c, const Loops& loops) {
  int64_t sets = std::max<int64_t>(c.members(), 1);
  int64_t count = c.out(0).numel() / sets;
  for (int64_t b = 0; b < sets; ++b) {
    DrawKey key = draw_key(static_cast<uint64_t>(c.in(2).as<int64_t>()[b]),
                           c.node->rng_key,
                           static_cast<uint64_t>(c.in(3).as<int64_t>()[b]),
                           static_cast<uint64_t>(*c.in(4).as<int64_t>()));
    drop(c.out(0).as<T>() + b * count, c.in(0).as<T>() + b * count, count,
         c.in(1).as<double>()[b], key, loops);
  }
}

Thunk prepare_dropout(const Call& call, const Loops& loops) {
  DType dtype = call.in(0).dtype;
  auto run = dtype == DType::kFloat64    ? run_dropout<double>
             : dtype == DType::kBFloat16 ? run_dropout<at::BFloat16>
             : dtype == DType::kFloat16  ? run_dropout<at::Half>
                                         : run_dropout<float>;
  if (call.in(0).contiguous()) return [call, loops, run] { run(call, loops); };
  // Strided input: rows first, then in place.
  Call packed = call;
  packed.inputs[0] = call.out(0);
  at::Tensor x = bind(call.in(0), at::kCPU), y = bind(call.out(0), at::kCPU);
  return [packed, loops, run, x, y] {
    y.copy_(x);
    run(packed, loops);
  };
}

}  // namespace

void add_cpu_dropout(KernelTable& table, const Loops& loops) {
  table.add("dropout",
            [loops](const Call& c) { return prepare_dropout(c, loops); });
}

}  // namespace braid::runtime
