#include "braid/graph/var.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "fake_rules.h"

namespace braid {
namespace {

class VarTest : public testing::Test {
 protected:
  FakeRules rules_;
  Graph graph_{rules_};
  Var x_ = input(graph_, "x", {DType::kFloat32, {4, 3}});
};

TEST_F(VarTest, KnowsItsType) {
  EXPECT_EQ(x_.shape(), (Shape{4, 3}));
  EXPECT_EQ(x_.dtype(), DType::kFloat32);
  EXPECT_EQ(x_.rank(), 2);
  EXPECT_EQ(x_.numel(), 12);
  EXPECT_EQ(x_.dim(0), 4);
  EXPECT_EQ(x_.dim(-1), 3);
  EXPECT_THROW(x_.dim(2), std::invalid_argument);
}

TEST_F(VarTest, EmptyVarsAreFalse) {
  EXPECT_TRUE(x_);
  EXPECT_FALSE(Var());
}

TEST_F(VarTest, ApplyAppendsANode) {
  Var y = apply("relu", {x_}, {{"slope", 0.5}});
  ASSERT_EQ(graph_.nodes().size(), 1u);
  EXPECT_EQ(graph_.node(0).inputs, std::vector<ValueId>{x_.id});
  EXPECT_EQ(graph_.node(0).attrs.number("slope"), 0.5);
  EXPECT_EQ(graph_.node(0).outputs, std::vector<ValueId>{y.id});
}

TEST_F(VarTest, ApplyAllGivesEveryOutput) {
  std::vector<Var> outputs = apply_all("max", {x_});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[0].dtype(), DType::kFloat32);
  EXPECT_EQ(outputs[1].dtype(), DType::kInt64);
}

TEST_F(VarTest, MissingInputsBecomeNone) {
  Var w = input(graph_, "w", {DType::kFloat32, {5, 3}});
  Var y = apply("linear", {x_, w, Var()});
  EXPECT_EQ(y.shape(), (Shape{4, 5}));
  EXPECT_EQ(graph_.node(0).inputs, (std::vector<ValueId>{x_.id, w.id, kNone}));
}

TEST_F(VarTest, InputsMustBeThereAndFromOneGraph) {
  Graph other(rules_);
  Var foreign = input(other, "x", x_.type());
  EXPECT_THROW(apply("add", {x_, foreign}), std::invalid_argument);
  EXPECT_THROW(apply("zeros", {}), std::invalid_argument);
  EXPECT_THROW(apply("relu", {Var()}), std::invalid_argument);
  EXPECT_TRUE(graph_.nodes().empty());
}

TEST_F(VarTest, ReadAndAssignNameTheSlot) {
  graph_.add_slot(plain_slot("other", {1}));
  SlotId slot = graph_.add_slot(plain_slot("w", {4, 3}));
  graph_.slot(slot).members = 2;
  Var w = read(graph_, slot);
  assign(slot, w);
  EXPECT_EQ(w.shape(), (Shape{2, 4, 3}));
  EXPECT_EQ(graph_.node(0).op->name, "read");
  EXPECT_EQ(graph_.node(0).slot, slot);
  EXPECT_EQ(graph_.node(1).op->name, "assign");
  EXPECT_EQ(graph_.node(1).slot, slot);
  EXPECT_EQ(graph_.node(1).inputs, std::vector<ValueId>{w.id});
}

}  // namespace
}  // namespace braid
