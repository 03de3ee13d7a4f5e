// Updates of many parameters of all members in one launch, by the rules of
// update_rules.h. The tensors come with the launch, as its arguments: blocks
// are dealt to them by size. A block works on one member of one tensor, so the
// rule's coefficients are found once per block, in f64, and then serve many
// elements: the grid is bounded and its threads stride over the member. Where
// all operands allow it a thread moves 16 bytes at a time.
#include <algorithm>
#include <new>

#include "braid/runtime/kernels/cuda/cuda_kernels.h"
#include "braid/runtime/kernels/cuda/launch.cuh"
#include "braid/runtime/kernels/update_rules.h"

namespace braid::runtime::cuda {
namespace {

constexpr int kPackBytes = 16;
// Of a launch, or one per member and tensor.
constexpr int64_t kMaxBlocks = 2048;
// Tensors of a launch: what its 4 KB of arguments hold.
constexpr int kMostTensors = 40;

template <class T, int kWidth>
struct alignas(sizeof(T) * kWidth) Pack {
  T at[kWidth];
};

// One access: a plain assignment is split by the compiler.
template <class T, int kWidth>
__device__ void store(T* to, const Pack<T, kWidth>& value) {
  if constexpr (kWidth == 1) {
    *to = value.at[0];
  } else if constexpr (sizeof(T) == 4) {
    __stwb(reinterpret_cast<float4*>(to),
           make_float4(value.at[0], value.at[1], value.at[2], value.at[3]));
  } else {
    __stwb(reinterpret_cast<double2*>(to),
           make_double2(value.at[0], value.at[1]));
  }
}

// What is one tensor's of an update.
template <class T>
struct Tensors {
  T *p_out, *states_out[kMaxStates];
  const T *p, *states[kMaxStates];
  const void* gradient;
  int64_t count;      // of a member
  int32_t end_block;  // its blocks end here, and those of the next begin
  bool is_narrow;     // the gradient
};

// What all have in common.
template <class T>
struct Numbers {
  const int64_t* step;
  const double* values[kMaxValues];
  const double *extra, *scale, *keep;
  bool nesterov, decoupled;
};

template <class T, int kTensors>
struct Batch {
  Numbers<T> numbers;
  Tensors<T> tensors[kTensors];
};

static_assert(sizeof(Batch<double, kMostTensors>) <= 4096);

template <class T>
__device__ UpdateInputs inputs_of(const Numbers<T>& n, int64_t member) {
  UpdateInputs in;
#pragma unroll
  for (int i = 0; i < kMaxValues; ++i) {
    if (n.values[i]) in.value[i] = n.values[i][member];
  }
  in.step = static_cast<double>(n.step[member] + 1);
  if (n.extra) in.extra = n.extra[member];
  if (n.scale) in.scale = n.scale[member];
  in.nesterov = n.nesterov;
  in.decoupled = n.decoupled;
  return in;
}

// What a block needs to know about its member.
template <class Rule, class T>
struct Member {
  __device__ Member(const UpdateInputs& in, bool is_kept)
      : rule(in), scale(static_cast<T>(in.scale)), moves(is_kept) {}
  Rule rule;
  T scale;
  bool moves;  // else everything stays as it is
};

// A gradient in bf16 is the upper half of one in f32.
template <class T, int kWidth>
__device__ Pack<T, kWidth> load_gradient(const Tensors<T>& u, int64_t i) {
  if constexpr (sizeof(T) == sizeof(float)) {
    if (u.is_narrow) {
      const auto* from = static_cast<const uint16_t*>(u.gradient) + i;
      auto half = *reinterpret_cast<const Pack<uint16_t, kWidth>*>(from);
      Pack<T, kWidth> wide;
#pragma unroll
      for (int w = 0; w < kWidth; ++w) {
        wide.at[w] = __uint_as_float(static_cast<uint32_t>(half.at[w]) << 16);
      }
      return wide;
    }
  }
  const T* from = static_cast<const T*>(u.gradient) + i;
  return *reinterpret_cast<const Pack<T, kWidth>*>(from);
}

// Elements [i, i + kWidth): all are read before any is written, so outputs
// may lie in the place of any input.
template <class Rule, class T, unsigned kHas, int kWidth>
__device__ void update_pack(const Tensors<T>& u, const Member<Rule, T>& m,
                            int64_t i) {
  using Packed = Pack<T, kWidth>;
  auto load = [i](const T* x) {
    return *reinterpret_cast<const Packed*>(x + i);
  };
  Packed p = load(u.p), s[Rule::kStates] = {};
  Packed g = load_gradient<T, kWidth>(u, i);
#pragma unroll
  for (int k = 0; k < Rule::kStates; ++k) {
    if (kHas >> k & 1) s[k] = load(u.states[k]);
  }
  if (m.moves) {
#pragma unroll
    for (int w = 0; w < kWidth; ++w) {
      T one[Rule::kStates];
#pragma unroll
      for (int k = 0; k < Rule::kStates; ++k) one[k] = s[k].at[w];
      m.rule.template apply<kHas>(p.at[w], g.at[w] * m.scale, one);
#pragma unroll
      for (int k = 0; k < Rule::kStates; ++k) s[k].at[w] = one[k];
    }
  }
  store(u.p_out + i, p);
#pragma unroll
  for (int k = 0; k < Rule::kStates; ++k) {
    if (kHas >> k & 1) store(u.states_out[k] + i, s[k]);
  }
}

// The tensor that a block works on: the first that ends behind it.
template <class T, int kTensors>
__device__ int tensor_of(const Batch<T, kTensors>& batch, int32_t block) {
  int low = 0;
#pragma unroll
  for (int step = kTensors > 1 ? 32 : 0; step > 0; step /= 2) {
    int at = low + step;
    if (at < kTensors && batch.tensors[at - 1].end_block <= block) low = at;
  }
  return low;
}

template <class Rule, class T, unsigned kHas, int kWidth, int kTensors>
__global__ void __launch_bounds__(kThreads)
    update_kernel(const __grid_constant__ Batch<T, kTensors> batch) {
  using Mine = Member<Rule, T>;
  __shared__ alignas(Mine) unsigned char memory[sizeof(Mine)];
  int64_t member = blockIdx.y;
  const Numbers<T>& n = batch.numbers;
  if (threadIdx.x == 0) {
    new (memory) Mine(inputs_of(n, member), !n.keep || n.keep[member] != 0);
  }
  auto block = static_cast<int32_t>(blockIdx.x);
  int number = tensor_of(batch, block);
  Tensors<T> u = batch.tensors[number];
  int32_t first = number == 0 ? 0 : batch.tensors[number - 1].end_block;
  __syncthreads();
  Mine mine = *reinterpret_cast<const Mine*>(memory);
  int64_t stride = int64_t{u.end_block - first} * kThreads * kWidth;
  int64_t thread = (block - first) * int64_t{kThreads} + threadIdx.x;
  for (int64_t i = thread * kWidth; i < u.count; i += stride) {
    update_pack<Rule, T, kHas, kWidth>(u, mine, member * u.count + i);
  }
}

// Whether every member of every operand begins where a pack may begin.
template <class T>
bool fits_packs(const Update<T>& u) {
  auto is_even = [](const void* data) {
    return reinterpret_cast<uintptr_t>(data) % kPackBytes == 0;
  };
  bool even = is_even(u.p) && is_even(u.p_out) && is_even(u.gradient);
  for (int k = 0; k < kMaxStates; ++k) {
    even = even && is_even(u.states[k]) && is_even(u.states_out[k]);
  }
  return even && u.count * sizeof(T) % kPackBytes == 0;
}

template <class T>
Numbers<T> numbers_of(const Update<T>& u) {
  Numbers<T> n{.step = u.step,
               .values = {},
               .extra = u.extra,
               .scale = u.scale,
               .keep = u.keep,
               .nesterov = u.nesterov,
               .decoupled = u.decoupled};
  std::copy_n(u.values, kMaxValues, n.values);
  return n;
}

template <class T>
Tensors<T> tensors_of(const Update<T>& u, int32_t end_block) {
  Tensors<T> t{.p_out = u.p_out,
               .states_out = {},
               .p = u.p,
               .states = {},
               .gradient = u.gradient,
               .count = u.count,
               .end_block = end_block,
               .is_narrow = u.is_narrow};
  std::copy_n(u.states, kMaxStates, t.states);
  std::copy_n(u.states_out, kMaxStates, t.states_out);
  return t;
}

// Up to kTensors updates. A block takes at least a pack for each thread, and
// as many elements as keep the grid within its bound.
template <class Rule, class T, unsigned kHas, int kWidth, int kTensors>
void launch_batch(const Update<T>* const* updates, int count,
                  cudaStream_t stream) {
  int64_t members = updates[0]->members, all = 0;
  for (int i = 0; i < count; ++i) all += updates[i]->count;
  int64_t most = std::max<int64_t>(kMaxBlocks / members, 1);
  int64_t per_block =
      std::max<int64_t>(kThreads * kWidth, (all + most - 1) / most);
  Batch<T, kTensors> batch{.numbers = numbers_of(*updates[0]), .tensors = {}};
  int64_t blocks = 0;
  for (int i = 0; i < kTensors; ++i) {
    if (i < count) blocks += (updates[i]->count + per_block - 1) / per_block;
    const Update<T>& u = *updates[std::min(i, count - 1)];
    batch.tensors[i] = tensors_of(u, static_cast<int32_t>(blocks));
  }
  dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(members));
  update_kernel<Rule, T, kHas, kWidth, kTensors>
      <<<grid, kThreads, 0, stream>>>(batch);
}

// Those that move in packs of kWidth.
template <class Rule, class T, unsigned kHas, int kWidth>
void launch_as(std::span<const Update<T>> updates, cudaStream_t stream) {
  const Update<T>* batch[kMostTensors];
  int count = 0;
  auto flush = [&] {
    if (count == 1) {
      launch_batch<Rule, T, kHas, kWidth, 1>(batch, 1, stream);
    } else if (count > 1) {
      launch_batch<Rule, T, kHas, kWidth, kMostTensors>(batch, count, stream);
    }
    count = 0;
  };
  for (const Update<T>& u : updates) {
    if (fits_packs(u) != (kWidth > 1)) continue;
    if (count == kMostTensors) flush();
    batch[count++] = &u;
  }
  flush();
}

template <class Rule, class T, unsigned kHas>
void launch(std::span<const Update<T>> updates, cudaStream_t stream) {
  launch_as<Rule, T, kHas, kPackBytes / sizeof(T)>(updates, stream);
  launch_as<Rule, T, kHas, 1>(updates, stream);
}

template <class T>
struct Row {
  std::string_view kind;
  unsigned has;
  UpdateLauncher<T> launch;
};

}  // namespace

template <class T>
UpdateLauncher<T> find_update(std::string_view kind, unsigned has) {
  constexpr Row<T> kRows[] = {
      {"sgd", 0, launch<SgdRule<T>, T, 0>},
      {"sgd", 1, launch<SgdRule<T>, T, 1>},
      {"adamw", 3, launch<AdamRule<T, true>, T, 3>},
      {"adam", 3, launch<AdamRule<T, false>, T, 3>},
      {"adam", 7, launch<AdamRule<T, false>, T, 7>},
      {"adadelta", 3, launch<AdadeltaRule<T>, T, 3>},
      {"adagrad", 1, launch<AdagradRule<T>, T, 1>},
      {"rmsprop", 1, launch<RmspropRule<T>, T, 1>},
      {"rmsprop", 3, launch<RmspropRule<T>, T, 3>},
      {"rmsprop", 5, launch<RmspropRule<T>, T, 5>},
      {"rmsprop", 7, launch<RmspropRule<T>, T, 7>},
      {"nadam", 3, launch<NadamRule<T>, T, 3>},
      {"radam", 3, launch<RadamRule<T>, T, 3>},
      {"lion", 1, launch<LionRule<T>, T, 1>},
  };
  for (const Row<T>& row : kRows) {
    if (row.kind == kind && row.has == has) return row.launch;
  }
  return nullptr;
}

template UpdateLauncher<float> find_update(std::string_view, unsigned);
template UpdateLauncher<double> find_update(std::string_view, unsigned);

}  // namespace braid::runtime::cuda
