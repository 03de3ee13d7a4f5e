// Every pass leaves a well-formed graph, for every model, alone and as arrays.
#include <gtest/gtest.h>

#include <set>

#include "braid/graph/text.h"
#include "braid/graph/verify.h"
#include "braid/passes/rewrite/fusion.h"
#include "models/zoo_sizes.h"
#include "passes/model_steps.h"

namespace braid {
namespace {

using Case = std::tuple<std::string, int64_t>;  // model, members

class PassesOnModels : public testing::TestWithParam<Case> {
 protected:
  StepOptions options(int64_t micro_batches = 1) const {
    StepOptions options{.members = std::get<1>(GetParam()),
                        .micro_batches = micro_batches};
    passes::set_option(options.optimizer, "clip_norm", 1);
    passes::set_option(options.optimizer, "skip_nonfinite", 1);
    return options;
  }
  const std::string& model() const { return std::get<0>(GetParam()); }
  Graph forward() const { return small_forward(ops_, model(), options()); }

  OpTable ops_ = standard_ops();
};

TEST_P(PassesOnModels, EveryPassLeavesAWellFormedGraph) {
  Graph graph = forward();
  verify(graph);
  passes::Gradients gradients = passes::differentiate(ops_, graph);
  verify(gradients.graph);
  passes::StepGraph step = passes::accumulate(ops_, std::move(gradients), 2);
  verify(step.graph);
  step = passes::add_optimizer(ops_, std::move(step), options().optimizer);
  verify(step.graph);
  step = passes::layout(ops_, step);
  verify(step.graph);
  step = passes::fusion(ops_, step);
  verify(step.graph);
  std::string text = print_graph(step.graph);
  EXPECT_EQ(print_graph(parse_graph(text, ops_)), text);
}

TEST_P(PassesOnModels, EveryGraphReadsBackFromItsText) {
  for (int64_t micro : {1, 2}) {
    std::string text =
        print_graph(small_step(ops_, model(), options(micro)).graph);
    EXPECT_EQ(print_graph(parse_graph(text, ops_)), text);
  }
}

TEST_P(PassesOnModels, EveryParameterGetsAGradient) {
  Graph graph = forward();
  size_t parameters = 0;
  for (const Slot& slot : graph.slots()) {
    parameters += slot.role == Role::kParameter;
  }
  EXPECT_EQ(passes::differentiate(ops_, graph).of_slot.size(), parameters);
}

TEST_P(PassesOnModels, LossIsOneNumberPerMember) {
  int64_t members = std::get<1>(GetParam());
  Graph graph = forward();
  EXPECT_EQ(graph.value(graph.find_output("loss")).type.shape,
            members > 0 ? Shape{members} : Shape{});
}

TEST_P(PassesOnModels, DropoutKeysAreThoseOfOneModel) {
  auto keys = [](const Graph& graph) {
    std::set<uint64_t> found;
    for (const Node& node : graph.nodes()) {
      if (node.op->name == "dropout") found.insert(node.rng_key);
    }
    return found;
  };
  std::set<uint64_t> one =
      keys(models::build_model(ops_, model(), DType::kFloat32));
  EXPECT_EQ(keys(forward()), one);
  EXPECT_EQ(keys(small_step(ops_, model(), options(2)).graph), one);
}

TEST_P(PassesOnModels, NodesKeepTheirSegments) {
  size_t segments = num_segments(ops_, model());
  passes::StepGraph step = small_step(ops_, model(), options());
  std::set<int32_t> found;
  for (const Node& node : step.graph.nodes()) {
    EXPECT_LT(node.segment, static_cast<int32_t>(segments));
    EXPECT_TRUE(node.phase != Phase::kForward || node.segment >= 0);
    found.insert(node.segment);
  }
  EXPECT_EQ(found.size(), segments + 1);  // and kNone
}

TEST_P(PassesOnModels, LayoutLeavesNoReshape) {
  passes::StepGraph step = small_step(ops_, model(), options());
  for (const Node& node : step.graph.nodes())
    EXPECT_NE(node.op->name, "reshape");
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  auto [model, members] = info.param;
  return fmt::format("{}_{}", model_name(model), members);
}

INSTANTIATE_TEST_SUITE_P(Models, PassesOnModels,
                         testing::Combine(testing::ValuesIn(small_models()),
                                          testing::Values(0, 1, 3)),
                         case_name);

INSTANTIATE_TEST_SUITE_P(Zoo, PassesOnModels,
                         testing::Combine(testing::ValuesIn(zoo_models()),
                                          testing::Values(0, 1, 3)),
                         case_name);

}  // namespace
}  // namespace braid
