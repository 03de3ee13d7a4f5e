#include "braid/plan/program_text.h"

#include <gtest/gtest.h>

#include "passes/model_steps.h"
#include "passes/text_graphs.h"
#include "plan/program_checker.h"
#include "plan/random_plans.h"
#include "thrown.h"

namespace braid::plan {
namespace {

Program random_program(Random& random, const std::string& model) {
  passes::StepGraph step = small_step(table(), model,
                                      {.members = below(random, 2) * 2,
                                       .micro_batches = 1 + below(random, 2),
                                       .optimizer = random_optimizer(random)});
  return compile(table(), step, random_plan(random, 12, 3), made_up_workspace);
}

std::string error_of(const std::string& text) {
  return thrown_by([&] { parse_program(text, table()); });
}

TEST(ProgramText, ReadsBackWhatItPrints) {
  Random random(31);
  for (const std::string& model : small_models()) {
    for (int round = 0; round < 8; ++round) {
      Program program = random_program(random, model);
      std::string text = print_program(program);
      Program again = parse_program(text, table());
      ASSERT_EQ(print_program(again), text) << model;
      EXPECT_EQ(again.instructions, program.instructions);
      EXPECT_EQ(again.units, program.units);
      EXPECT_EQ(again.calls, program.calls);
      EXPECT_EQ(again.allocations, program.allocations);
      EXPECT_EQ(again.slots, program.slots);
      EXPECT_EQ(again.inputs, program.inputs);
      EXPECT_EQ(again.outputs, program.outputs);
      EXPECT_EQ(again.update_begin, program.update_begin);
      EXPECT_EQ(again.gradients.size(), program.gradients.size());
      EXPECT_EQ(again.peak_bytes(), program.peak_bytes());
      EXPECT_EQ(again.host_bytes(), program.host_bytes());
      EXPECT_TRUE(problems_of(table(), again).empty());
    }
  }
}

// The whole text of a small program: a change of it is a change of what runs.
TEST(ProgramText, OfASpilledLayer) {
  passes::StepGraph step{passes::graph_of(R"(
    slot "w" f32[2, 2] parameter constant(1.0)
    input %0 "x" f32[3, 2]
    %1: f32[2, 2] = read "w" @"fc"
    %2: f32[3, 2] = linear(%0, %1, _) @"fc"
    %3: f32[3, 2] = relu(%2) @"fc"
    output "y" %3
  )")};
  Program program = compile(
      table(), step,
      uniform(1, {Activations::kKeep, Parameters::kSpilled, Update::kDevice}));
  std::string text = print_program(program);
  EXPECT_EQ(text.substr(0, text.find("graph\n")), R"text(braid-program 1
micro_batches 1
memory arena=192 host_arena=0 events=1
slot "w" host
allocation 0 host_slot bytes=64 live=[0, 1] "w"
allocation 1 arena bytes=24 offset=64 live=[0, 3] "(inputs)"
allocation 2 arena bytes=64 offset=0 live=[0, 2] "w"
allocation 3 arena bytes=24 offset=128 live=[2, 3] "fc"
inputs [1]
outputs [3]
call 0 node=1 inputs=[1, 2, _] outputs=[3]
call 1 node=2 inputs=[3] outputs=[3]
unit forward segment=0
  copy h2d 0 -> 2 event=0
  wait [0]
  run compute call=0
  run compute call=1
)text");
}

// The same of a step that finds everything in a file.
TEST(ProgramText, OfALayerInAFile) {
  Graph forward = passes::graph_of(R"(
    slot "w" f32[16] parameter constant(1.0)
    %0: f32[16] = read "w" @"fc"
    %1: f32[16] = exp(%0) @"fc"
    %2: f32[] = mean(%1) {dims=[0], keep_dims=false} @"fc"
    output "loss" %2
  )");
  passes::mark_segments(forward);
  passes::Optimizer optimizer = passes::make_optimizer("sgd");
  passes::set_option(optimizer, "momentum", 0.9);
  passes::StepGraph step = passes::layout(
      table(), passes::add_optimizer(
                   table(),
                   passes::accumulate(
                       table(), passes::differentiate(table(), forward), 1),
                   optimizer));
  Program program = compile(
      table(), step,
      uniform(1, {Activations::kKeep, Parameters::kFile, Update::kHostFile}));
  EXPECT_TRUE(problems_of(table(), program).empty());
  std::string text = print_program(program);
  EXPECT_EQ(text.substr(0, text.find("graph\n")), R"text(braid-program 1
micro_batches 1
memory arena=192 host_arena=512 events=13
slot "w" disk
slot "optimizer/momentum_buffer/w" disk
allocation 0 disk_slot bytes=64 live=[0, 17] "w"
allocation 1 device_slot bytes=64 live=[14, 25] "hyper/dampening"
allocation 2 device_slot bytes=64 live=[12, 23] "hyper/lr"
allocation 3 device_slot bytes=64 live=[13, 24] "hyper/momentum"
allocation 4 device_slot bytes=64 live=[15, 26] "hyper/weight_decay"
allocation 5 device_slot bytes=64 live=[11, 20] "counter/update"
allocation 6 disk_slot bytes=64 live=[2, 18] "optimizer/momentum_buffer/w"
allocation 7 device_slot bytes=64 live=[21, 21] "counter/step"
allocation 8 arena bytes=64 offset=0 live=[3, 5] "w"
allocation 9 host_arena bytes=64 offset=0 live=[0, 4] "w"
allocation 10 host_arena bytes=64 offset=64 live=[1, 28] "w"
allocation 11 host_arena bytes=64 offset=128 live=[2, 29] "optimizer/momentum_buffer/w"
allocation 12 arena bytes=64 offset=64 live=[5, 22] "fc"
allocation 13 arena bytes=4 offset=0 live=[6, 32] "fc"
allocation 14 arena bytes=4 offset=128 live=[7, 9] "fc"
allocation 15 host_arena bytes=64 offset=0 live=[10, 27] "fc"
allocation 16 host_arena bytes=8 offset=192 live=[11, 27] "fc"
allocation 17 host_arena bytes=8 offset=256 live=[12, 27] "fc"
allocation 18 host_arena bytes=8 offset=320 live=[13, 27] "fc"
allocation 19 host_arena bytes=8 offset=384 live=[14, 27] "fc"
allocation 20 host_arena bytes=8 offset=448 live=[15, 27] "fc"
inputs []
outputs [13]
call 0 node=8 inputs=[8] outputs=[12]
call 1 node=9 inputs=[12] outputs=[13]
call 2 node=10 inputs=[13] outputs=[14]
call 3 node=11 inputs=[14] outputs=[14]
call 4 node=14 inputs=[14, 12] outputs=[12]
call 5 node=15 inputs=[10, 15, 11, 16, 17, 18, 19, 20, _, _] outputs=[10, 11]
call 6 node=18 inputs=[5, _] outputs=[5]
call 7 node=21 inputs=[7, _] outputs=[7]
gradient "w" call=5 operand=1 allocation=15
unit forward segment=0
  disk_read disk 0 -> 9 event=0
  disk_read disk 0 -> 10 event=1
  disk_read disk 6 -> 11 event=2
  copy h2d 9 -> 8 event=3 waits=[0]
  wait [3]
  run compute call=0
  run compute call=1
unit backward segment=0
  run compute call=2
  run compute call=3
  run compute call=4
  copy d2h 12 -> 15 event=4
  copy d2h 5 -> 16 event=5
  copy d2h 2 -> 17 event=6
  copy d2h 3 -> 18 event=7
  copy d2h 1 -> 19 event=8
  copy d2h 4 -> 20 event=9
  run host call=5 event=10 waits=[1, 4, 2, 5, 6, 7, 8, 9]
  disk_write disk 10 -> 0 event=11 waits=[10]
  disk_write disk 11 -> 6 event=12 waits=[10]
update
unit update segment=-1
  wait [5]
  run compute call=6
  run compute call=7
  wait [4]
  wait [6]
  wait [7]
  wait [8]
  wait [9]
  wait [10]
  wait [11]
  wait [12]
  wait [0]
  wait [1]
  wait [2]
)text");
}

TEST(ProgramText, RefusesWhatIsNoProgram) {
  Random random(5);
  std::string good = print_program(random_program(random, small_models()[0]));
  auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    size_t at = text.find(from);
    EXPECT_NE(at, text.npos) << from;
    return text.replace(at, from.size(), to);
  };
  EXPECT_EQ(error_of(good), "");
  EXPECT_NE(error_of("").find("'graph' is missing"), std::string::npos);
  EXPECT_NE(error_of(with("braid-program 1", "braid-program 2"))
                .find("line 1: expected 'braid-program 1'"),
            std::string::npos);
  EXPECT_NE(error_of(with("call 0 node=", "call 0 node=999999")), "");
  EXPECT_NE(error_of(with("run compute call=0", "run compute call=99999"))
                .find("is not from 0 to"),
            std::string::npos);
  EXPECT_NE(error_of(with("run compute", "run gpu"))
                .find("there is no stream \"gpu\""),
            std::string::npos);
  EXPECT_NE(error_of(with("inputs [", "inputs [0, ")), "");
  EXPECT_NE(error_of(with("unit forward", "unit sideways"))
                .find("no phase is \"sideways\""),
            std::string::npos);
}

}  // namespace
}  // namespace braid::plan
