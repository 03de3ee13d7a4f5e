// Updates of one parameter of all members in one launch, by the rules of
// update_rules.h. A block works on one member, so the rule's coefficients are
// found once per block, in f64, and then serve many elements: the grid is
// bounded and its threads stride over the member. Where all operands allow it
// a thread moves 16 bytes at a time.
#include <new>

#include "braid/runtime/kernels/cuda/cuda_kernels.h"
#include "braid/runtime/kernels/cuda/launch.cuh"
#include "braid/runtime/kernels/update_rules.h"

namespace braid::runtime::cuda {
namespace {

constexpr int kPackBytes = 16;
constexpr int64_t kMaxBlocks = 2048;  // of a launch, or one per member

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

template <class T>
__device__ UpdateInputs inputs_of(const Update<T>& u, int64_t member) {
  UpdateInputs in;
#pragma unroll
  for (int i = 0; i < kMaxValues; ++i) {
    if (u.values[i]) in.value[i] = u.values[i][member];
  }
  in.step = static_cast<double>(u.step[member] + 1);
  if (u.extra) in.extra = u.extra[member];
  if (u.scale) in.scale = u.scale[member];
  in.nesterov = u.nesterov;
  in.decoupled = u.decoupled;
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

// Elements [i, i + kWidth): all are read before any is written, so outputs
// may lie in the place of any input.
template <class Rule, class T, unsigned kHas, int kWidth>
__device__ void update_pack(const Update<T>& u, const Member<Rule, T>& m,
                            int64_t i) {
  using Packed = Pack<T, kWidth>;
  auto load = [i](const T* x) {
    return *reinterpret_cast<const Packed*>(x + i);
  };
  Packed p = load(u.p), g = load(u.gradient), s[Rule::kStates] = {};
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

template <class Rule, class T, unsigned kHas, int kWidth>
__global__ void __launch_bounds__(kThreads) update_kernel(Update<T> u) {
  using Mine = Member<Rule, T>;
  __shared__ alignas(Mine) unsigned char memory[sizeof(Mine)];
  int64_t member = blockIdx.y;
  if (threadIdx.x == 0) {
    new (memory) Mine(inputs_of(u, member), !u.keep || u.keep[member] != 0);
  }
  __syncthreads();
  Mine mine = *reinterpret_cast<const Mine*>(memory);
  int64_t stride = int64_t{gridDim.x} * kThreads * kWidth;
  int64_t thread = blockIdx.x * int64_t{kThreads} + threadIdx.x;
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

template <class Rule, class T, unsigned kHas, int kWidth>
void launch_as(const Update<T>& u, cudaStream_t stream) {
  int64_t needed = blocks_for(u.count, kWidth);
  int64_t most = kMaxBlocks / u.members;
  if (most < 1) most = 1;
  dim3 grid(static_cast<unsigned>(needed < most ? needed : most),
            static_cast<unsigned>(u.members));
  update_kernel<Rule, T, kHas, kWidth><<<grid, kThreads, 0, stream>>>(u);
}

template <class Rule, class T, unsigned kHas>
void launch(const Update<T>& u, cudaStream_t stream) {
  constexpr int kWidth = kPackBytes / sizeof(T);
  fits_packs(u) ? launch_as<Rule, T, kHas, kWidth>(u, stream)
                : launch_as<Rule, T, kHas, 1>(u, stream);
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
