// What the precision pass makes of every model, alone and as an array.
#include "braid/passes/rewrite/precision.h"

#include <gtest/gtest.h>

#include <set>

#include "braid/graph/text.h"
#include "braid/graph/verify.h"
#include "models/zoo_sizes.h"
#include "passes/model_steps.h"

namespace braid {
namespace {

using Case = std::tuple<std::string, int64_t>;  // model, members

class PrecisionOfModels : public testing::TestWithParam<Case> {
 protected:
  Graph forward() const {
    auto [model, members] = GetParam();
    return small_forward(ops_, model, {.members = members});
  }
  Graph lowered(const Graph& graph) const {
    Graph result =
        passes::lower_precision(ops_, graph, {.compute = DType::kBFloat16});
    verify(result);
    return result;
  }

  OpTable ops_ = standard_ops();
};

TEST_P(PrecisionOfModels, LoweringTwiceIsLoweringOnce) {
  Graph once = lowered(forward());
  EXPECT_EQ(print_graph(lowered(once)), print_graph(once));
}

TEST_P(PrecisionOfModels, NoValueIsCastTwiceToOneType) {
  Graph graph = lowered(forward());
  std::set<std::pair<ValueId, DType>> seen;
  for (const Node& node : graph.nodes()) {
    if (node.op->name != "to") continue;
    DType to = graph.value(node.outputs[0]).type.dtype;
    EXPECT_TRUE(seen.emplace(node.inputs[0], to).second);
  }
  EXPECT_GT(seen.size(), 4u);
}

TEST_P(PrecisionOfModels, MastersAndTheirGradientsAreF32) {
  Graph before = forward();
  passes::Gradients gradients = passes::differentiate(ops_, lowered(before));
  EXPECT_EQ(gradients.graph.slots(), before.slots());
  EXPECT_EQ(gradients.of_slot.size(),
            passes::differentiate(ops_, before).of_slot.size());
  for (auto [slot, gradient] : gradients.of_slot) {
    EXPECT_EQ(gradients.graph.value(gradient).type.dtype, DType::kFloat32)
        << gradients.graph.slot(slot).name;
  }
}

// An array computes in the types of one model, or members would differ.
TEST_P(PrecisionOfModels, ProductsAreNarrow) {
  Graph graph = lowered(forward());
  for (const Node& node : graph.nodes()) {
    if (node.op->precision != Precision::kLow) continue;
    EXPECT_EQ(graph.value(node.outputs[0]).type.dtype, DType::kBFloat16)
        << node.op->name;
  }
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  return model_name(std::get<0>(info.param)) + "_" +
         std::to_string(std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Models, PrecisionOfModels,
                         testing::Combine(testing::ValuesIn(small_models()),
                                          testing::Values<int64_t>(0, 3)),
                         case_name);

INSTANTIATE_TEST_SUITE_P(Zoo, PrecisionOfModels,
                         testing::Combine(testing::ValuesIn(zoo_models()),
                                          testing::Values<int64_t>(0, 3)),
                         case_name);

}  // namespace
}  // namespace braid
