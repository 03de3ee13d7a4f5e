#include "braid/compile/program_set.h"

#include <gtest/gtest.h>

#include "braid/graph/text.h"
#include "passes/model_steps.h"
#include "passes/text_graphs.h"

namespace braid::compile {
namespace {

StepSpec spec_of(const std::string& model) {
  return {.forward = models::build_model(table(), model, DType::kFloat32),
          .optimizer = passes::make_optimizer("adamw")};
}

std::vector<std::string> names_of(const StepSpec& spec,
                                  const Target& target = {}) {
  std::vector<std::string> names;
  for (const Pass& pass : pipeline(spec, target)) names.push_back(pass.name);
  return names;
}

TEST(Pipeline, HasThePassesThatAStepNeeds) {
  StepSpec spec = spec_of(small_models()[0]);
  using Names = std::vector<std::string>;
  EXPECT_EQ(names_of(spec),
            (Names{"forward", "sink_relu", "precision", "autodiff",
                   "accumulate", "optimizer", "layout", "fusion"}));
  spec.capacity = 3;
  spec.masked = true;
  passes::set_option(spec.optimizer, "skip_nonfinite", 1);
  EXPECT_EQ(
      names_of(spec),
      (Names{"forward", "guard", "mask", "sink_relu", "array", "precision",
             "autodiff", "accumulate", "optimizer", "layout", "fusion"}));
  spec.optimizer = {};
  EXPECT_EQ(names_of(spec, {.device = plan::cuda_device(0, 1 << 30)}),
            (Names{"forward", "sink_relu", "array", "precision", "split_norms",
                   "epilogues", "channels_last", "layout", "fusion"}));
}

// The list of names is what a user may ask for.
TEST(Pipeline, KnowsAllItsNamesInOrder) {
  StepSpec spec = spec_of(small_models()[0]);
  spec.capacity = 2;
  spec.masked = true;
  passes::set_option(spec.optimizer, "skip_nonfinite", 1);
  spec.optimizer.scales_loss = true;
  spec.precision = DType::kBFloat16;
  std::vector<std::string> names =
      names_of(spec, {.device = {.mixes_types = true,
                                 .has_epilogues = true,
                                 .wants_channels_last = true,
                                 .narrow_gradients = true}});
  names.push_back(kProgramPass);
  EXPECT_EQ(names, pass_names());
}

TEST(Pipeline, ShowsEveryPassAndTheProgram) {
  StepSpec spec = spec_of(small_models()[1]);
  spec.capacity = 2;
  std::vector<std::string> seen;
  std::string last_graph, program;
  ProgramSet set =
      compile_programs(table(), {spec}, {}, {}, [&](const PassResult& result) {
        seen.push_back(result.pass);
        EXPECT_EQ(&result.spec.forward.rules(), &spec.forward.rules());
        EXPECT_GE(result.seconds, 0);
        (result.pass == kProgramPass ? program : last_graph) = result.text();
      });
  std::vector<std::string> expected = names_of(spec);
  expected.push_back(kProgramPass);
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(last_graph, print_graph(build_step(table(), spec, {}).step.graph));
  EXPECT_TRUE(program.starts_with("braid-program 1\n"));
  ASSERT_EQ(set.programs.size(), 1u);
  EXPECT_EQ(set.peak_bytes, set.programs[0].peak_bytes());
}

// Whoever asks gets the same bytes, with and without somebody who looks.
TEST(Pipeline, GivesTheSameProgramEveryTime) {
  StepSpec spec = spec_of(small_models()[3]);
  std::vector<std::string> texts;
  for (int i = 0; i < 2; ++i) {
    compile_programs(table(), {spec}, {}, {}, [&](const PassResult& result) {
      if (result.pass == kProgramPass) texts.push_back(result.text());
    });
  }
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_EQ(texts[0], texts[1]);
}

TEST(ProgramSet, TakesSlotsOnceAndTheLargestArena) {
  StepSpec step = spec_of(small_models()[0]);
  StepSpec eval{.forward = step.forward};
  ProgramSet both = compile_programs(table(), {step, eval}, {});
  ProgramSet alone = compile_programs(table(), {step}, {});
  EXPECT_EQ(both.programs.size(), 2u);
  EXPECT_EQ(both.slots.size(), alone.slots.size());
  EXPECT_EQ(both.arena_bytes, std::max(both.programs[0].arena_bytes,
                                       both.programs[1].arena_bytes));
}

TEST(ProgramSet, RefusesAPlanOfAnotherModel) {
  StepSpec spec = spec_of(small_models()[0]);
  try {
    compile_programs(table(), {spec}, {}, {.plan = plan::keep_all(77)});
    FAIL() << "took a plan of 77 segments";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("the plan 77"), std::string::npos);
  }
}

TEST(Pipeline, RefusesWhatIsNoForwardGraph) {
  StepSpec spec{.forward = passes::graph_of(R"(
    input %0 "x" f32[2]
    output "y" %0
  )")};
  build_step(table(), spec, {});  // nothing learns: there is no loss to find
  spec.optimizer = passes::make_optimizer("sgd");
  EXPECT_THROW(build_step(table(), spec, {}), std::invalid_argument);
  spec.forward.outputs()[0].name = "loss";
  EXPECT_THROW(build_step(table(), spec, {}), std::invalid_argument);
}

}  // namespace
}  // namespace braid::compile
