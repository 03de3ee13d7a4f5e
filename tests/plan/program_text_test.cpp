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
