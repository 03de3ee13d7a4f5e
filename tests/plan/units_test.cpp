// Units and what is known of a step before it is planned.
#include <gtest/gtest.h>

#include <set>

#include "braid/plan/analysis.h"
#include "passes/model_steps.h"
#include "passes/text_graphs.h"
#include "plan/program_checker.h"
#include "plan/random_plans.h"

namespace braid::plan {
namespace {

TEST(Units, AreAllInstructionsInOrder) {
  Random random(3);
  for (const std::string& model : small_models()) {
    for (int64_t micro_batches : {1, 3}) {
      passes::StepGraph step =
          small_step(table(), model, {.micro_batches = micro_batches});
      Program program = compile(table(), step, random_plan(random, 12, 3));
      int32_t next = 0;
      for (const Unit& unit : program.units) {
        EXPECT_EQ(unit.begin, next);
        EXPECT_LE(unit.begin, unit.end);
        next = unit.end;
      }
      EXPECT_EQ(next, std::ssize(program.instructions));
      // No unit is of both parts.
      for (const Unit& unit : program.units) {
        bool in_update = unit.begin >= program.update_begin;
        EXPECT_EQ(in_update, unit.phase == Phase::kUpdate) << model;
      }
    }
  }
}

TEST(Units, TellTheBytesThatTheyMove) {
  passes::StepGraph step = small_step(table(), small_models()[0]);
  Program kept = compile(table(), step, keep_all(8));
  for (const Unit& unit : kept.units) {
    EXPECT_EQ(unit.bytes_in + unit.bytes_out, 0);
    EXPECT_LE(unit.live_bytes, kept.arena_bytes);
  }
  Program spilled = compile(
      table(), step,
      uniform(8, {Activations::kOffload, Parameters::kSpilled, Update::kHost}));
  int64_t in = 0, out = 0, copied_in = 0, copied_out = 0;
  for (const Unit& unit : spilled.units) {
    in += unit.bytes_in;
    out += unit.bytes_out;
  }
  for (const Instruction& i : spilled.instructions) {
    if (is_fetch(i)) copied_in += spilled.allocation(i.source).bytes;
    if (is_evict(i)) copied_out += spilled.allocation(i.source).bytes;
  }
  EXPECT_EQ(in, copied_in);
  EXPECT_EQ(out, copied_out);
  EXPECT_GT(in, 0);
  EXPECT_GT(out, 0);
}

// Each parameter is read for both parts of the step and written once; what
// the optimizer remembers, for the update alone.
TEST(Units, TellTheBytesOfTheFile) {
  passes::StepGraph step = small_step(table(), small_models()[0]);
  Program program = compile(
      table(), step,
      uniform(8, {Activations::kKeep, Parameters::kFile, Update::kHostFile}));
  int64_t read = 0, written = 0, parameters = 0;
  for (const Unit& unit : program.units) {
    read += unit.bytes_read;
    written += unit.bytes_written;
  }
  for (const Slot& slot : program.graph.slots()) {
    if (slot.role == Role::kParameter) parameters += slot_bytes(slot);
  }
  EXPECT_EQ(written, program.disk_bytes());
  EXPECT_GT(read, written);
  EXPECT_LE(read, written + parameters);
}

// Counted by hand: two linear layers of f32 on 3 rows.
TEST(SegmentCosts, OfTwoLayers) {
  Graph forward = passes::graph_of(R"(
    slot "a.weight" f32[4, 2] parameter constant(1.0)
    slot "b.weight" f32[1, 4] parameter constant(1.0)
    input %0 "x" f32[3, 2]
    %1: f32[4, 2] = read "a.weight" @"a"
    %2: f32[3, 4] = linear(%0, %1, _) @"a"
    %3: f32[3, 4] = tanh(%2) @"a"
    %4: f32[1, 4] = read "b.weight" @"b"
    %5: f32[3, 1] = linear(%3, %4, _) @"b"
    %6: f32[] = mean(%5) {dims=[0, 1], keep_dims=false} @"b"
    output "loss" %6
  )");
  size_t segments = passes::mark_segments(forward).size();
  ASSERT_EQ(segments, 2u);
  passes::StepGraph step = passes::layout(
      table(), passes::add_optimizer(
                   table(),
                   passes::accumulate(
                       table(), passes::differentiate(table(), forward), 1),
                   passes::make_optimizer("adamw")));
  StepAnalysis analysis = analyse(table(), step.graph);
  auto rows = segment_costs(table(), step.graph, analysis, segments);
  EXPECT_EQ(rows[0].parameter_bytes, 4 * 2 * 4);
  EXPECT_EQ(rows[1].parameter_bytes, 4 * 4);
  EXPECT_EQ(rows[0].state_bytes, 2 * 4 * 2 * 4);
  // tanh's result is what both backward parts read.
  EXPECT_EQ(rows[0].kept_bytes, 3 * 4 * 4);
  EXPECT_EQ(rows[1].input_bytes, 3 * 4 * 4);
  EXPECT_EQ(rows[0].forward_nodes, 2);
  EXPECT_GT(rows[0].forward.flops, 2 * 3 * 4 * 2 - 1);
  EXPECT_GT(rows[0].backward.flops, 0);
  EXPECT_GT(rows[0].update.bytes, 0);
}

}  // namespace
}  // namespace braid::plan
