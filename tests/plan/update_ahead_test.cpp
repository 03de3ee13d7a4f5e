#include "braid/plan/update_ahead.h"

#include <gtest/gtest.h>

#include "op_table.h"
#include "passes/model_steps.h"
#include "plan/program_checker.h"
#include "plan/random_plans.h"

namespace braid::plan {
namespace {

constexpr const char* kDeep = "mlp(hidden=64,layers=8)";

passes::Optimizer clipped(bool clips) {
  passes::Optimizer optimizer = passes::make_optimizer("adamw");
  if (clips) passes::set_option(optimizer, "clip_norm", 1);
  return optimizer;
}

Program program_of(Update update, bool clips) {
  passes::StepGraph step =
      small_step(table(), kDeep, {.optimizer = clipped(clips)});
  Decision decision{Activations::kKeep, Parameters::kSpilled, update};
  Program program = compile(table(), step,
                            uniform(num_segments(table(), kDeep), decision, 1));
  EXPECT_TRUE(problems_of(table(), program).empty());
  return program;
}

int64_t host_runs(const Program& program, bool in_update) {
  int64_t count = 0;
  for (size_t n = 0; n < program.instructions.size(); ++n) {
    const Instruction& i = program.instructions[n];
    if (!is_host_run(i)) continue;
    const PlannedCall& call = program.calls[static_cast<size_t>(i.call)];
    const Node& node = program.graph.node(call.node);
    count += node.op->updates && in_update == (node.phase == Phase::kUpdate);
  }
  return count;
}

TEST(UpdateAhead, UpdatesOnTheHostNeedNotWaitForTheNorm) {
  Program waits = program_of(Update::kHost, true);
  EXPECT_EQ(host_runs(waits, false), 0);
  int64_t parameters = host_runs(waits, true);
  Program ahead = program_of(Update::kHostAhead, true);
  EXPECT_EQ(host_runs(ahead, false), parameters);
  EXPECT_EQ(host_runs(ahead, true), parameters);  // what may be made again
}

// Where updates on the host take long, they take it beside the backward part.
TEST(UpdateAhead, TheStepIsShorterForMoreHostMemory) {
  Durations slow_updates = [](const Program& program, const Instruction& i) {
    if (i.stream == Stream::kCompute) return 40e-6;
    if (i.stream != Stream::kHostUpdate) return 1e-6;
    const PlannedCall& call = program.calls[static_cast<size_t>(i.call)];
    const Node& node = program.graph.node(call.node);
    if (is_rare(node)) return 0.0;
    return node.op->updates ? 20e-6 : 5e-6;  // else what is set aside
  };
  Program waits = program_of(Update::kHost, true);
  Program ahead = program_of(Update::kHostAhead, true);
  EXPECT_LT(simulate(ahead, slow_updates).time_s,
            simulate(waits, slow_updates).time_s);
  EXPECT_GT(ahead.host_bytes(), waits.host_bytes());
}

TEST(UpdateAhead, IsAnUpdateOnTheHostWhereNothingWaits) {
  passes::StepGraph step = small_step(table(), kDeep, {});
  EXPECT_FALSE(has_waiting_updates(step));
  EXPECT_EQ(program_of(Update::kHostAhead, false).instructions,
            program_of(Update::kHost, false).instructions);
  step = small_step(table(), kDeep, {.optimizer = clipped(true)});
  EXPECT_TRUE(has_waiting_updates(step));
}

// Gradients that the host works on leave the device with their layer, clipped
// or not.
TEST(UpdateAhead, ClippingKeepsNoGradientOnTheDevice) {
  int64_t free = program_of(Update::kHost, false).peak_bytes();
  EXPECT_LE(program_of(Update::kHost, true).peak_bytes(), free + free / 20);
  EXPECT_LE(program_of(Update::kHostAhead, true).peak_bytes(),
            free + free / 20);
  EXPECT_GT(program_of(Update::kDevice, true).peak_bytes(), free);
}

}  // namespace
}  // namespace braid::plan
