#include "braid/graph/graph.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "braid/base/rng.h"
#include "fake_rules.h"

namespace braid {
namespace {

class GraphTest : public testing::Test {
 protected:
  ValueId add(const char* op, std::vector<ValueId> inputs) {
    return graph_.node(graph_.add(op, std::move(inputs))).outputs.at(0);
  }

  FakeRules rules_;
  Graph graph_{rules_};
  ValueId x_ = graph_.add_input("x", {DType::kFloat32, {4, 3}});
};

TEST_F(GraphTest, NodesGetTheirTypesFromTheRules) {
  NodeId node = graph_.add("max", {x_});
  ASSERT_EQ(graph_.node(node).outputs.size(), 2u);
  const Value& index = graph_.value(graph_.node(node).outputs[1]);
  EXPECT_EQ(index.type, (ValueType{DType::kInt64, {4}}));
  EXPECT_EQ(index.producer, node);
  EXPECT_EQ(index.strides, Strides{1});
  EXPECT_EQ(index.offset, 0);
}

TEST_F(GraphTest, WrongInputsAreRefusedAndLeaveNothingBehind) {
  EXPECT_THROW(graph_.add("relu", {99}), std::invalid_argument);
  EXPECT_THROW(graph_.add("relu", {-2}), std::invalid_argument);
  EXPECT_THROW(graph_.add("nonsense", {x_}), std::invalid_argument);
  EXPECT_TRUE(graph_.nodes().empty());
  EXPECT_EQ(graph_.values().size(), 1u);
}

TEST_F(GraphTest, PathScopesNest) {
  {
    PathScope block(graph_, "block");
    PathScope fc(graph_, "fc");
    add("relu", {x_});
  }
  add("relu", {x_});
  EXPECT_EQ(graph_.node(0).path, "block.fc");
  EXPECT_EQ(graph_.node(1).path, "");
}

TEST_F(GraphTest, PathsJoinWithDots) {
  EXPECT_EQ(join_path("a", "b"), "a.b");
  EXPECT_EQ(join_path("", "b"), "b");
  EXPECT_EQ(join_path("a", ""), "a");
}

TEST_F(GraphTest, PhasesAreThePresentOnes) {
  graph_.set_phase(Phase::kBackward);
  add("relu", {x_});
  EXPECT_EQ(graph_.node(0).phase, Phase::kBackward);
  EXPECT_EQ(phase_name(Phase::kForward), "forward");
  EXPECT_EQ(phase_name(Phase::kBackward), "backward");
  EXPECT_EQ(phase_name(Phase::kUpdate), "update");
}

TEST_F(GraphTest, RandomNodesAreKeyedByPathAndOrdinal) {
  graph_.set_path("a");
  add("dropout", {x_});
  add("dropout", {x_});
  graph_.set_path("b");
  add("dropout", {x_});
  add("relu", {x_});
  EXPECT_EQ(graph_.node(0).rng_key, stable_hash("a#0"));
  EXPECT_EQ(graph_.node(1).rng_key, stable_hash("a#1"));
  EXPECT_EQ(graph_.node(2).rng_key, stable_hash("b#0"));
  EXPECT_EQ(graph_.node(3).rng_key, 0u);
}

TEST_F(GraphTest, CopiesOfNodesKeepEverythingButTheInputs) {
  ValueId y = add("relu", {x_});
  graph_.set_path("drop");
  NodeId first = graph_.add("dropout", {x_}, {{"p", 0.5}});
  graph_.set_path("elsewhere");
  graph_.set_phase(Phase::kBackward);
  NodeId again = graph_.add_like(graph_.node(first), {y});
  const Node& copy = graph_.node(again);
  EXPECT_EQ(copy.inputs, std::vector<ValueId>{y});
  EXPECT_EQ(copy.path, "drop");
  EXPECT_EQ(copy.phase, Phase::kForward);
  EXPECT_EQ(copy.rng_key, graph_.node(first).rng_key);
  EXPECT_EQ(copy.attrs.number("p"), 0.5);
  EXPECT_NE(copy.outputs, graph_.node(first).outputs);
}

TEST_F(GraphTest, NamesAreUniqueAndFound) {
  SlotId slot = graph_.add_slot(plain_slot("w", {2}));
  graph_.add_output("y", x_);
  EXPECT_EQ(graph_.find_input("x"), x_);
  EXPECT_EQ(graph_.find_slot("w"), slot);
  EXPECT_EQ(graph_.find_output("y"), x_);
  EXPECT_EQ(graph_.find_input("y"), kNone);
  EXPECT_EQ(graph_.find_slot("x"), kNone);
  EXPECT_EQ(graph_.find_output("w"), kNone);
  EXPECT_THROW(graph_.add_input("x", {}), std::invalid_argument);
  EXPECT_THROW(graph_.add_slot(plain_slot("w", {})), std::invalid_argument);
  EXPECT_THROW(graph_.add_output("y", x_), std::invalid_argument);
}

TEST_F(GraphTest, NodesPointToTheOpsOfTheirTable) {
  NodeId node = graph_.add("relu", {x_});
  EXPECT_EQ(graph_.node(node).op, rules_.find("relu"));
  EXPECT_TRUE(graph_.node(node).is(OpKind::kRelu));
  EXPECT_FALSE(graph_.node(node).is(OpKind::kRead));
}

TEST_F(GraphTest, NodesOfAnotherTableGetTheOpsOfThisOne) {
  FakeRules others;
  Graph other(others);
  ValueId x = other.add_input("x", {DType::kFloat32, {4, 3}});
  NodeId made = other.add("transpose", {x});
  NodeId copy = graph_.add_like(other.node(made), {x_});
  EXPECT_EQ(graph_.node(copy).op, rules_.find("transpose"));
  NodeId again = graph_.add(*other.node(made).op, {x_});
  EXPECT_EQ(graph_.node(again).op, rules_.find("transpose"));
  Op unknown{.name = "nonsense"};
  EXPECT_THROW(graph_.add(unknown, {x_}), std::invalid_argument);
}

TEST_F(GraphTest, UsersAreTheNodesThatReadAValue) {
  using Ids = std::vector<NodeId>;
  ValueId w = graph_.add_input("w", {DType::kFloat32, {5, 3}});
  ValueId a = add("relu", {x_});         // node 0
  ValueId b = add("add", {a, a});        // node 1
  add("linear", {b, w, kNone});          // node 2
  ValueId unread = add("add", {x_, b});  // node 3
  Users users = graph_.users();
  auto of = [&](ValueId id) {
    return Ids(users.of(id).begin(), users.of(id).end());
  };
  EXPECT_EQ(of(x_), (Ids{0, 3}));
  EXPECT_EQ(of(w), Ids{2});
  EXPECT_EQ(of(a), Ids{1});  // which reads it twice
  EXPECT_EQ(of(b), (Ids{2, 3}));
  EXPECT_EQ(of(unread), Ids{});
}

TEST_F(GraphTest, DroppedNodesLeaveTheOtherValuesInPlace) {
  ValueId a = add("relu", {x_});
  ValueId b = add("relu", {x_});
  graph_.keep_nodes({false, true});
  ASSERT_EQ(graph_.nodes().size(), 1u);
  EXPECT_EQ(graph_.node(0).outputs[0], b);
  EXPECT_EQ(graph_.value(a).producer, kNone);
  EXPECT_EQ(graph_.value(b).producer, 0);
}

TEST_F(GraphTest, ReorderedNodesKeepTheirValues) {
  ValueId a = add("relu", {x_});
  ValueId b = add("transpose", {x_});
  graph_.reorder({1, 0});
  EXPECT_EQ(graph_.node(0).op->name, "transpose");
  EXPECT_EQ(graph_.value(a).producer, 1);
  EXPECT_EQ(graph_.value(b).producer, 0);
}

TEST(SlotTest, MembersAreALeadingAxis) {
  Slot slot = plain_slot("w", {4, 3});
  slot.dtype = DType::kBFloat16;
  EXPECT_EQ(slot.stored_shape(), (Shape{4, 3}));
  EXPECT_EQ(slot.bytes(), 24);
  slot.members = 5;
  EXPECT_EQ(slot.stored_shape(), (Shape{5, 4, 3}));
  EXPECT_EQ(slot.bytes(), 120);
}

TEST(SlotTest, InitsDescribeTheirDistribution) {
  EXPECT_EQ(Init::constant(2), (Init{Init::Kind::kConstant, 2, 0}));
  EXPECT_EQ(Init::uniform(2), (Init{Init::Kind::kUniform, -2, 2}));
  EXPECT_EQ(Init::normal(2), (Init{Init::Kind::kNormal, 0, 2}));
}

}  // namespace
}  // namespace braid
