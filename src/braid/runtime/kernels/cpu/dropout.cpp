#include "braid/base/rng.h"
#include "braid/runtime/kernels/aten/bind.h"
#include "braid/runtime/kernels/cpu/cpu_kernels.h"
#include "braid/runtime/kernels/cpu/spread.h"

namespace braid::runtime {
namespace {

// Narrow values are scaled in f32.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class T>
void drop(T* y, const T* x, int64_t count, double p, DrawKey key) {
  auto factor = static_cast<Wide<T>>(p < 1 ? 1 / (1 - p) : 0);
  constexpr int64_t kBlocks = 1024;
  spread((count + 3) / 4, kBlocks, [&](int64_t from, int64_t to) {
    for (int64_t block = from; block < to; ++block) {
      RandomBlock random =
          philox(key.key, static_cast<uint64_t>(block), key.moment);
      int64_t end = std::min<int64_t>(4, count - block * 4);
      for (int64_t i = 0; i < end; ++i) {
        bool stays = unit_interval(random.word[i]) >= p;
        int64_t at = block * 4 + i;
        y[at] = stays ? static_cast<T>(x[at] * factor) : T(0);
      }
    }
  });
}

template <class T>
void run_dropout(const Call& c) {
  int64_t sets = std::max<int64_t>(c.members(), 1);
  int64_t count = c.out(0).numel() / sets;
  for (int64_t b = 0; b < sets; ++b) {
    DrawKey key = draw_key(static_cast<uint64_t>(c.in(2).as<int64_t>()[b]),
                           c.node->rng_key,
                           static_cast<uint64_t>(c.in(3).as<int64_t>()[b]),
                           static_cast<uint64_t>(*c.in(4).as<int64_t>()));
    drop(c.out(0).as<T>() + b * count, c.in(0).as<T>() + b * count, count,
         c.in(1).as<double>()[b], key);
  }
}

Run prepare_dropout(const Call& call) {
  DType dtype = call.in(0).dtype;
  auto run = dtype == DType::kFloat64    ? run_dropout<double>
             : dtype == DType::kBFloat16 ? run_dropout<at::BFloat16>
             : dtype == DType::kFloat16  ? run_dropout<at::Half>
                                         : run_dropout<float>;
  if (call.in(0).contiguous()) return [call, run] { run(call); };
  // Strided input: rows first, then in place.
  Call packed = call;
  packed.inputs[0] = call.out(0);
  at::Tensor x = bind(call.in(0), at::kCPU), y = bind(call.out(0), at::kCPU);
  return [packed, run, x, y] {
    y.copy_(x);
    run(packed);
  };
}

}  // namespace

void add_cpu_dropout(KernelTable& table) {
  table.add("dropout", prepare_dropout);
}

}  // namespace braid::runtime
