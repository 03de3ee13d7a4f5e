// The eval form of every model of the zoo.
#include "braid/passes/rewrite/eval_form.h"

#include <gtest/gtest.h>

#include "braid/graph/verify.h"
#include "models/zoo_sizes.h"
#include "passes/model_steps.h"

namespace braid {
namespace {

class EvalFormOfModels : public testing::TestWithParam<std::string> {
 protected:
  OpTable ops_ = standard_ops();
  Graph train_ = models::build_with_outputs(ops_, GetParam(), DType::kFloat32);
  Graph eval_ = passes::eval_form(ops_, train_);
};

TEST_P(EvalFormOfModels, NothingIsDrawnAndNothingIsWritten) {
  verify(eval_);
  for (const Node& node : eval_.nodes()) {
    EXPECT_FALSE(node.op->random) << node.op->name << " at " << node.path;
    EXPECT_FALSE(node.op->writes_slot) << node.op->name;
    if (node.op->name != "batch_norm") continue;
    EXPECT_FALSE(node.attrs.flag("training")) << node.path;
    ASSERT_GT(node.inputs.size(), 4u);
    for (size_t i : {3, 4}) {
      const Node& read = eval_.node(eval_.value(node.inputs[i]).producer);
      EXPECT_EQ(read.op->name, "read") << node.path;
    }
  }
}

TEST_P(EvalFormOfModels, SlotsAndOutputsAreThoseOfTraining) {
  ASSERT_EQ(eval_.slots().size(), train_.slots().size());
  for (size_t i = 0; i < eval_.slots().size(); ++i) {
    EXPECT_EQ(eval_.slots()[i].name, train_.slots()[i].name);
  }
  ASSERT_EQ(eval_.outputs().size(), train_.outputs().size());
  for (size_t i = 0; i < eval_.outputs().size(); ++i) {
    const Output &a = eval_.outputs()[i], &b = train_.outputs()[i];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(eval_.value(a.value).type, train_.value(b.value).type);
  }
}

TEST_P(EvalFormOfModels, TheFormOfTheFormIsItself) {
  Graph again = passes::eval_form(ops_, eval_);
  ASSERT_EQ(again.nodes().size(), eval_.nodes().size());
  for (size_t i = 0; i < again.nodes().size(); ++i) {
    EXPECT_EQ(again.nodes()[i].op, eval_.nodes()[i].op);
  }
}

std::vector<std::string> every_model() {
  std::vector<std::string> all = zoo_models();
  all.insert(all.end(), small_models().begin(), small_models().end());
  return all;
}

TEST(EvalFormCases, SomeOfThemDropAndSomeNormalise) {
  OpTable ops = standard_ops();
  int64_t drops = 0, norms = 0;
  for (const std::string& model : every_model()) {
    Graph graph = models::build_model(ops, model, DType::kFloat32);
    for (const Node& node : graph.nodes()) {
      drops += node.op->random;
      norms += node.op->name == "batch_norm";
    }
  }
  EXPECT_GT(drops, 20);
  EXPECT_GT(norms, 50);
}

std::string name_of(const testing::TestParamInfo<std::string>& model) {
  return model_name(model.param);
}
INSTANTIATE_TEST_SUITE_P(Zoo, EvalFormOfModels,
                         testing::ValuesIn(every_model()), name_of);

// Losses are made of the outputs beside them.
TEST(BuildWithOutputs, TheLossComesFirstAndTheRestHasNames) {
  OpTable ops = standard_ops();
  for (const std::string& model : every_model()) {
    SCOPED_TRACE(model);
    Graph whole = models::build_with_outputs(ops, model, DType::kFloat64);
    Graph plain = models::build_model(ops, model, DType::kFloat64);
    ASSERT_GE(whole.outputs().size(), 2u);
    EXPECT_EQ(whole.outputs()[0].name, "loss");
    ASSERT_EQ(plain.outputs().size(), 1u);
    EXPECT_EQ(plain.outputs()[0].name, "loss");
    EXPECT_EQ(plain.nodes().size(), whole.nodes().size());
    for (const Output& output : whole.outputs()) {
      EXPECT_EQ(whole.value(output.value).type.dtype, DType::kFloat64);
      EXPECT_FALSE(output.name.empty());
    }
  }
}

TEST(BuildWithOutputs, ScoresHaveOneNumberPerClass) {
  OpTable ops = standard_ops();
  Graph graph = models::build_with_outputs(ops, "lenet(batch=2,classes=36)",
                                           DType::kFloat32);
  ValueId scores = graph.find_output("logits");
  ASSERT_NE(scores, kNone);
  EXPECT_EQ(graph.value(scores).type.shape, (Shape{2, 36}));
  EXPECT_THROW(models::build_with_outputs(ops, "lenett", DType::kFloat32),
               std::invalid_argument);
}

}  // namespace
}  // namespace braid
