// Which calls run as one, and that the bits stay the same when they do.
#include "braid/runtime/call_groups.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "braid/runtime/cpu_backend.h"
#include "braid/runtime/executor.h"
#include "kernels.h"
#include "passes/model_steps.h"
#include "passes/text_graphs.h"
#include "train/batches.h"

namespace braid::runtime {
namespace {

using passes::graph_of;

// Calls on one piece of memory: places are numbers of f32.
class Calls {
 public:
  Tensor at(int64_t begin, int64_t count, Strides strides = {1}) {
    return {memory_.data() + begin * 4,
            DType::kFloat32,
            {count},
            std::move(strides)};
  }
  static Call call(std::vector<Tensor> inputs, std::vector<Tensor> outputs) {
    return {.inputs = std::move(inputs), .outputs = std::move(outputs)};
  }

 private:
  alignas(64) std::array<std::byte, 400> memory_ = {};
};

bool independent(const Call& a, const Call& b) {
  EXPECT_EQ(are_independent(a, b), are_independent(b, a));
  return are_independent(a, b);
}

TEST(CallGroupsTest, CallsThatOnlyReadTheSameAreIndependent) {
  Calls m;
  Call a = m.call({m.at(0, 4), m.at(90, 1)}, {m.at(0, 4)});
  Call b = m.call({m.at(4, 4), m.at(90, 1)}, {m.at(4, 4)});
  EXPECT_TRUE(independent(a, b));
}

TEST(CallGroupsTest, CallsThatWriteWhatOthersTouchAreNot) {
  Calls m;
  Call a = m.call({m.at(0, 4)}, {m.at(10, 4)});
  EXPECT_FALSE(independent(a, m.call({m.at(13, 4)}, {m.at(20, 4)})));
  EXPECT_FALSE(independent(a, m.call({m.at(30, 4)}, {m.at(3, 1)})));
  EXPECT_FALSE(independent(a, m.call({m.at(30, 4)}, {m.at(7, 4)})));
  EXPECT_TRUE(independent(a, m.call({m.at(14, 4)}, {m.at(4, 4)})));
}

TEST(CallGroupsTest, StridedOperandsReachToTheirLastElement) {
  Calls m;
  Call a = m.call({m.at(0, 3, {10})}, {m.at(50, 1)});
  EXPECT_FALSE(independent(a, m.call({}, {m.at(20, 1)})));
  EXPECT_TRUE(independent(a, m.call({}, {m.at(21, 1)})));
}

TEST(CallGroupsTest, ScratchIsWrittenAndMissingOperandsAreNothing) {
  Calls m;
  Tensor scratch = m.at(40, 4);
  Workspace workspace{.data = scratch.data, .bytes = 16};
  Call a = m.call({{}, m.at(0, 4)}, {m.at(10, 4)});
  a.workspace = &workspace;
  EXPECT_FALSE(independent(a, m.call({m.at(43, 1)}, {m.at(20, 4)})));
  EXPECT_TRUE(independent(a, m.call({m.at(44, 1), {}}, {m.at(20, 4)})));
  EXPECT_TRUE(independent(a, m.call({m.at(41, 0)}, {m.at(20, 4)})));
}

// What the group kernel of an op was given: numbers of calls, in order.
using Sizes = std::vector<size_t>;

KernelTable grouping(const std::string& op, Sizes& prepared, Sizes& ran) {
  KernelTable table = cpu_kernels();
  Kernel alone = table.at(op);
  table.add_group(op, [=, &prepared, &ran](std::span<const Call> calls) {
    prepared.push_back(calls.size());
    std::vector<Thunk> all;
    for (const Call& call : calls) all.push_back(alone(call));
    return [all, &ran] {
      ran.push_back(all.size());
      // Another order must give the same.
      for (auto at = all.rbegin(); at != all.rend(); ++at) (*at)();
    };
  });
  return table;
}

TEST(CallGroupsTest, OnlyNeighboursOfOneOpFormAGroup) {
  Sizes prepared, ran;
  KernelTable kernels_ = grouping("neg", prepared, ran);
  CpuBackend backend(kernels_, {});
  plan::Program program = plan::compile(table(),
                                        {passes::layout(table(), graph_of(R"(
    input %0 "x" f32[2]
    input %1 "y" f32[2]
    %2: f32[2] = neg(%0)
    %3: f32[2] = neg(%1)
    %4: f32[2] = neg(%3)
    %5: f32[2] = add(%0, %1)
    %6: f32[2] = neg(%5)
    output "a" %2
    output "b" %4
    output "c" %6
    output "d" %3
  )")),
                                         1,
                                         {}},
                                        {});
  State state(program.graph.slots(), program.slots, backend);
  Executor executor(table(), program, state, backend);
  EXPECT_EQ(prepared, Sizes{2});
  std::array<float, 2> x{1, 2}, y{3, 4};
  executor.step([&](int64_t, ValueId id) {
    return reinterpret_cast<const std::byte*>(id == 0 ? x.data() : y.data());
  });
  EXPECT_EQ(ran, Sizes{2});
  auto first = [&](const char* name) {
    float value = 0;
    std::memcpy(&value, executor.output(name).data(), sizeof value);
    return value;
  };
  EXPECT_EQ(first("a"), -1);
  EXPECT_EQ(first("b"), 3);
  EXPECT_EQ(first("c"), -4);
  EXPECT_EQ(first("d"), -3);
}

// Two writes to one slot stay in order.
TEST(CallGroupsTest, CallsThatDependOnEachOtherRunAlone) {
  Sizes prepared, ran;
  KernelTable kernels_ = grouping("mul_scalar", prepared, ran);
  CpuBackend backend(kernels_, {});
  plan::Program program = plan::compile(table(),
                                        {passes::layout(table(), graph_of(R"(
    input %0 "x" f32[2]
    %1: f32[2] = mul_scalar(%0) {value=2.0}
    %2: f32[2] = mul_scalar(%1) {value=3.0}
    output "y" %2
  )")),
                                         1,
                                         {}},
                                        {});
  State state(program.graph.slots(), program.slots, backend);
  Executor executor(table(), program, state, backend);
  EXPECT_EQ(prepared, Sizes{});
}

// A model whose updates wait for the norm of all gradients, and so stand
// together.
class Clipped {
 public:
  explicit Clipped(Backend& backend)
      : step_([] {
          StepOptions options;
          passes::set_option(options.optimizer, "clip_norm", 1);
          return small_step(table(), small_models()[0], options);
        }()),
        program_(plan::compile(table(), step_, {})),
        state_(program_.graph.slots(), program_.slots, backend),
        executor_(table(), program_, state_, backend),
        batches_(program_.graph, {}) {
    state_.initialise(std::vector<int64_t>{7});
  }

  Executor& executor() { return executor_; }
  Executor::Feed feed() {
    return [this, step = steps_++](int64_t micro, ValueId id) {
      return batches_.input(step, micro, id);
    };
  }
  std::vector<std::vector<std::byte>> bits() {
    std::vector<std::vector<std::byte>> bits;
    for (size_t i = 0; i < state_.slots().size(); ++i) {
      bits.push_back(state_.read(static_cast<SlotId>(i)));
    }
    return bits;
  }

 private:
  passes::StepGraph step_;
  plan::Program program_;
  State state_;
  Executor executor_;
  Batches batches_;
  int64_t steps_ = 0;
};

TEST(CallGroupsTest, GroupsOfUpdatesGiveTheBitsOfSingleCalls) {
  Sizes prepared, ran;
  KernelTable kernels_ = grouping("adamw_update", prepared, ran);
  CpuBackend one_by_one(kernels(), {}), grouped(kernels_, {});
  Clipped a(one_by_one), b(grouped);
  ASSERT_FALSE(prepared.empty());
  for (int i = 0; i < 3; ++i) {
    a.executor().step(a.feed());
    b.executor().step(b.feed());
  }
  EXPECT_EQ(a.bits(), b.bits());
  EXPECT_EQ(ran.size(), 3 * prepared.size());
  // Unit by unit.
  for (Clipped* model : {&a, &b}) {
    model->executor().begin_step(model->feed());
    while (model->executor().is_stepping()) model->executor().run_unit();
  }
  EXPECT_EQ(a.bits(), b.bits());
  EXPECT_EQ(ran.size(), 4 * prepared.size());
}

// Taps come before each update, clocks want each call.
TEST(CallGroupsTest, WhoLooksAtCallsGetsEachAlone) {
  Sizes prepared, ran;
  KernelTable kernels_ = grouping("adamw_update", prepared, ran);
  CpuBackend one_by_one(kernels(), {}), grouped(kernels_, {});
  Clipped a(one_by_one), b(grouped);
  using Tapped = std::map<SlotId, std::vector<std::byte>>;
  Tapped of_a, of_b;
  auto tap = [](Tapped& tapped) {
    return [&](SlotId slot, std::span<const std::byte> gradient) {
      tapped[slot].assign(gradient.begin(), gradient.end());
    };
  };
  a.executor().tap_gradients(tap(of_a));
  b.executor().tap_gradients(tap(of_b));
  a.executor().step(a.feed());
  b.executor().step(b.feed());
  EXPECT_EQ(of_a, of_b);
  EXPECT_FALSE(of_a.empty());
  EXPECT_EQ(ran, Sizes{});
  b.executor().tap_gradients({});
  std::vector<double> seconds;
  b.executor().time_calls(&seconds);
  b.executor().step(b.feed());
  b.executor().time_calls(nullptr);
  a.executor().tap_gradients({});
  a.executor().step(a.feed());
  EXPECT_EQ(ran, Sizes{});
  EXPECT_EQ(a.bits(), b.bits());
}

}  // namespace
}  // namespace braid::runtime
