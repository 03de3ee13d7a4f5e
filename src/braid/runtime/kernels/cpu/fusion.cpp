// Fusions of pointwise ops, block by block: every step of a block is computed
// before the next block, so what lies between steps stays in the first cache.
#include <algorithm>
#include <cstring>

#include "braid/base/error.h"
#include "braid/runtime/kernels/cpu/cpu_kernels.h"
#include "braid/runtime/kernels/cpu/fusion_plan.h"
#include "braid/runtime/kernels/cpu/gather.h"
#include "braid/runtime/kernels/cpu/parallel_for.h"

namespace braid::runtime {
namespace {

constexpr int64_t kMaxBlock = 1024;  // elements
constexpr int64_t kScratchBytes = 36 * 1024;
// Registers do not begin at equal places of a page: a load would wait for a
// store that only looks as if it went there.
constexpr int64_t kGapBytes = 576;

template <class T>
constexpr int64_t pitch_of(int64_t block) {
  return block + kGapBytes / static_cast<int64_t>(sizeof(T));
}

template <class T>
int64_t block_of(size_t registers) {
  constexpr auto kRoom = kScratchBytes / static_cast<int64_t>(sizeof(T));
  int64_t block = kMaxBlock;
  while (static_cast<int64_t>(registers) * pitch_of<T>(block) > kRoom) {
    block /= 2;
  }
  return block;
}

template <class T>
struct Place {
  T* memory = nullptr;  // of all elements; null: a register
  int64_t offset = 0;   // of the register

  T* at(T* registers, int64_t first) const {
    return memory ? memory + first : registers + offset;
  }
};

// Operands that an op has not are its first.
template <class T>
struct Instruction {
  FusionInstruction::Kind kind = {};
  size_t input = 0;  // that is gathered
  FusionLoop<T> loop = nullptr;
  Place<T> to = {}, a = {}, b = {}, c = {};
  T v = 0, w = 0;
};

template <class T>
class Blocks {
 public:
  Blocks(const Call& c, const LoopsOf<T>& loops) : count_(c.out(0).numel()) {
    Fusion fusion = read_fusion(c.attrs(), c.inputs.size());
    for (const Tensor& x : c.inputs) {
      gathers_.emplace_back(x, c.out(0).shape, loops);
    }
    FusionPlan plan = planned(c, fusion);
    for (const FusionInstruction& next : plan.first) {
      first_.push_back(bound(c, fusion, next, loops));
    }
    for (const FusionInstruction& next : plan.instructions) {
      instructions_.push_back(bound(c, fusion, next, loops));
    }
  }

  void operator()() const {
    constexpr int64_t kGrain = 32768;
    int64_t blocks = (count_ + block_ - 1) / block_;
    parallel_for(blocks, kGrain / block_, [&](int64_t from, int64_t to) {
      alignas(64) T registers[kScratchBytes / sizeof(T)];
      run(first_, registers, 0, std::min(block_, count_));
      for (int64_t b = from; b < to; ++b) {
        int64_t first = b * block_;
        run(instructions_, registers, first, std::min(block_, count_ - first));
      }
    });
  }

 private:
  // What is steady depends on the block, and the block on the registers that
  // this takes: it becomes smaller until they agree.
  FusionPlan planned(const Call& c, const Fusion& fusion) {
    FusionScratch memory = memory_of(c);
    for (;;) {
      memory.is_steady.clear();
      for (size_t i = 0; i < gathers_.size(); ++i) {
        memory.is_steady.push_back(!memory.is_plain[i] && count_ > 0 &&
                                   block_ % gathers_[i].period() == 0);
      }
      FusionPlan plan = plan_fusion(fusion, memory);
      int64_t fits = block_of<T>(plan.num_registers);
      if (fits >= block_) return plan;
      block_ = fits;
    }
  }

  static FusionScratch memory_of(const Call& c) {
    FusionScratch memory;
    for (const Tensor& x : c.inputs) {
      memory.is_plain.push_back(x.shape == c.out(0).shape && x.contiguous());
    }
    for (const Tensor& y : c.outputs) {
      std::vector<bool>& shared = memory.shared.emplace_back();
      for (const Tensor& x : c.inputs) shared.push_back(x.data == y.data);
    }
    return memory;
  }

  Place<T> bound(const Call& c, const FusionPlace& place) const {
    auto index = static_cast<int64_t>(place.index);
    switch (place.kind) {
      case FusionPlace::Kind::kInput:
        return {.memory = c.in(place.index).as<T>()};
      case FusionPlace::Kind::kOutput:
        return {.memory = c.out(place.index).as<T>()};
      case FusionPlace::Kind::kRegister:
        return {.offset = index * pitch_of<T>(block_)};
    }
    return {};
  }

  Instruction<T> bound(const Call& c, const Fusion& fusion,
                       const FusionInstruction& next,
                       const LoopsOf<T>& loops) const {
    Instruction<T> made{
        .kind = next.kind, .input = next.step, .to = bound(c, next.to)};
    if (next.kind == FusionInstruction::Kind::kGather) return made;
    auto from = [&](size_t i) {
      return bound(c, next.from[i < next.from.size() ? i : 0]);
    };
    made.a = from(0);
    made.b = from(1);
    made.c = from(2);
    if (next.kind == FusionInstruction::Kind::kStore) return made;
    const FusionStep& step = fusion.steps[next.step];
    made.loop = loops.fusion_loop(step.op->name);
    made.v = static_cast<T>(step.numbers[0]);
    made.w = static_cast<T>(step.numbers[1]);
    return made;
  }

  void run(const std::vector<Instruction<T>>& instructions, T* registers,
           int64_t first, int64_t count) const {
    for (const Instruction<T>& next : instructions) {
      T* to = next.to.at(registers, first);
      switch (next.kind) {
        case FusionInstruction::Kind::kGather:
          gathers_[next.input](to, first, count);
          break;
        case FusionInstruction::Kind::kCompute:
          next.loop(to, next.a.at(registers, first),
                    next.b.at(registers, first), next.c.at(registers, first),
                    next.v, next.w, count);
          break;
        case FusionInstruction::Kind::kStore:
          std::memcpy(to, next.a.at(registers, first),
                      static_cast<size_t>(count) * sizeof(T));
          break;
      }
    }
  }

  int64_t count_, block_ = kMaxBlock;
  std::vector<Gather<T>> gathers_;  // by input
  std::vector<Instruction<T>> first_, instructions_;
};

void check_types(const Call& c) {
  DType type = c.out(0).dtype;
  auto is_of_type = [&](const Tensor& t) { return t.dtype == type; };
  if ((type == DType::kFloat32 || type == DType::kFloat64) &&
      std::ranges::all_of(c.inputs, is_of_type) &&
      std::ranges::all_of(c.outputs, is_of_type)) {
    return;
  }
  fail_usage("[fusion] a CPU computes those that are all f32 or all f64");
}

}  // namespace

void add_cpu_fusion(KernelTable& table, const Loops& loops) {
  table.add("fusion", [loops](const Call& c) {
    check_types(c);
    return c.out(0).dtype == DType::kFloat64 ? Thunk(Blocks(c, loops.f64))
                                             : Thunk(Blocks(c, loops.f32));
  });
}

}  // namespace braid::runtime
