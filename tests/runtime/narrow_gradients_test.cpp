// Updates that read gradients in bf16 give the bits of those that read a cast.
#include "braid/passes/step/narrow_gradients.h"

#include <gtest/gtest.h>

#include "braid/compile/planner.h"
#include "braid/runtime/cpu_backend.h"
#include "braid/runtime/executor.h"
#include "kernels.h"
#include "passes/model_steps.h"
#include "passes/text_graphs.h"
#include "train/batches.h"

namespace braid::runtime {
namespace {

struct Setting {
  std::string model;
  passes::Optimizer optimizer = passes::make_optimizer("adamw");
  int64_t micro_batches = 1;
};

plan::Program program_of(const Setting& s, bool is_narrow) {
  compile::StepSpec spec{
      .forward = models::build_model(table(), s.model, DType::kFloat32),
      .optimizer = s.optimizer,
      .micro_batches = s.micro_batches,
      .precision = DType::kBFloat16};
  compile::Target target;
  target.device.narrow_gradients = is_narrow;
  return compile::compile_programs(table(), {spec}, target).programs[0];
}

size_t num_narrow(const plan::Program& program) {
  size_t count = 0;
  for (const Node& node : program.graph.nodes()) {
    if (!node.op->update_kind) continue;
    DType dtype = program.graph.value(node.inputs[1]).type.dtype;
    count += dtype == DType::kBFloat16;
  }
  return count;
}

using Bytes = std::vector<std::byte>;

// Slots after three steps, then the gradients of the last by name.
std::pair<std::vector<Bytes>, std::map<std::string, Bytes>> run(
    const plan::Program& program) {
  CpuBackend backend(kernels(), {});
  State state(program.graph.slots(), program.slots, backend);
  state.initialise(std::vector<int64_t>{7});
  Executor executor(table(), program, state, backend);
  Batches batches(program.graph, {});
  std::map<std::string, Bytes> gradients;
  executor.tap_gradients([&](SlotId slot, std::span<const std::byte> rows) {
    const Slot& of = state.slots()[static_cast<size_t>(slot)];
    EXPECT_EQ(std::ssize(rows), of.bytes()) << of.name;
    gradients[of.name] = {rows.begin(), rows.end()};
  });
  for (int64_t step = 0; step < 3; ++step) {
    executor.step([&](int64_t micro, ValueId id) {
      return batches.input(step, micro, id);
    });
  }
  std::vector<Bytes> slots;
  for (size_t i = 0; i < state.slots().size(); ++i) {
    slots.push_back(state.read(static_cast<SlotId>(i)));
  }
  return {slots, gradients};
}

TEST(NarrowGradients, GiveTheSameBits) {
  for (const std::string& model : small_models()) {
    SCOPED_TRACE(model);
    plan::Program wide = program_of({model}, false);
    plan::Program narrow = program_of({model}, true);
    EXPECT_EQ(num_narrow(wide), 0u);
    EXPECT_GT(num_narrow(narrow), 0u);
    EXPECT_LT(narrow.calls.size(), wide.calls.size());
    EXPECT_LE(narrow.peak_bytes(), wide.peak_bytes());
    auto before = run(wide), after = run(narrow);
    EXPECT_EQ(before.first, after.first);
    EXPECT_EQ(before.second, after.second);
    EXPECT_FALSE(after.second.empty());
  }
}

// What else looks at the cast keeps it.
TEST(NarrowGradients, StayWideWhereMoreThanTheUpdateReadsThem) {
  Setting clipped{small_models()[0]}, summed{small_models()[0]};
  set_option(clipped.optimizer, "clip_norm", 1);
  summed.micro_batches = 2;
  for (const Setting& s : {clipped, summed}) {
    EXPECT_EQ(num_narrow(program_of(s, true)), 0u);
    EXPECT_EQ(program_of(s, true).calls, program_of(s, false).calls);
  }
}

}  // namespace
}  // namespace braid::runtime
