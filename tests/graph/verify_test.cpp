#include "braid/graph/verify.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <stdexcept>

#include "fake_rules.h"
#include "thrown.h"

namespace braid {
namespace {

const Op kNonsense{.name = "nonsense"};
constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

// Values: 0 x, 1 w, 2 y, 3 relu, 4 max, 5 its index. Nodes: 0 read, 1 linear,
// 2 relu, 3 max, 4 assign.
Graph sample(const TypeRules& rules) {
  Graph graph(rules);
  ValueId x = graph.add_input("x", {DType::kFloat32, {4, 3}});
  SlotId slot = graph.add_slot(plain_slot("fc.w", {5, 3}));
  SlotId b = graph.add_slot(plain_slot("b", {5}));
  graph.slot(b).aliases = {"tied"};
  graph.set_path("fc");
  graph.add("read", {}, {}, slot);
  graph.add("linear", {x, 1, kNone});
  graph.add("relu", {2});
  graph.add("max", {3});
  graph.set_phase(Phase::kUpdate);
  graph.add("assign", {1}, {}, slot);
  graph.add_output("y", 4);
  return graph;
}

std::string problem_of(const Graph& graph) {
  return thrown_by([&] { verify(graph); });
}

struct Damage {
  const char* name;
  std::function<void(Graph&)> apply;
  const char* problem;  // a part of the message
};

const Damage kDamages[] = {
    {"input beyond the values", [](Graph& g) { g.node(2).inputs[0] = 99; },
     "node 2 (relu, path 'fc'): input 0 is value 99; there are 6"},
    {"input below none", [](Graph& g) { g.node(2).inputs[0] = -2; },
     "node 2 (relu, path 'fc'): input 0 is value -2"},
    {"input made later",
     [](Graph& g) {
       g.reorder({0, 2, 1, 3, 4});
     },
     "node 1 (relu, path 'fc'): input 0 is value 2, which node 2 makes only"},
    {"own output as input", [](Graph& g) { g.node(2).inputs[0] = 3; },
     "node 2 (relu, path 'fc'): input 0 is value 3, which node 2 makes only"},
    {"input of a removed node",
     [](Graph& g) {
       g.keep_nodes({true, true, false, true, true});
     },
     "node 2 (max, path 'fc'): input 0 is value 3, whose node was removed"},
    {"missing input", [](Graph& g) { g.node(2).inputs[0] = kNone; },
     "node 2 (relu, path 'fc'): [relu] input 0 is missing"},
    {"wrong producer", [](Graph& g) { g.value(3).producer = 1; },
     "node 2 (relu, path 'fc'): output 0 claims to be made by node 1"},
    {"producer of an input", [](Graph& g) { g.value(0).producer = 2; },
     "input 'x' claims to be made by node 2"},
    {"value that no node has",
     [](Graph& g) {
       g.node(3).op = &g.rules().at("relu");
       g.node(3).outputs = {4};
       g.value(4).type = g.value(3).type;
       g.value(4).strides = g.value(3).strides;
     },
     "value 5 claims to be made by node 3"},
    {"output id out of range", [](Graph& g) { g.node(2).outputs[0] = 6; },
     "node 2 (relu, path 'fc'): output 0 is value 6, which does not exist"},
    {"output id below none", [](Graph& g) { g.node(2).outputs[0] = kNone; },
     "output 0 is value -1, which does not exist"},
    {"output made twice", [](Graph& g) { g.node(2).outputs[0] = 2; },
     "node 2 (relu, path 'fc'): output 0 is value 2, which exists already"},
    {"too few outputs", [](Graph& g) { g.node(3).outputs.pop_back(); },
     "node 3 (max, path 'fc'): has 1 outputs, the op yields 2"},
    {"wrong shape",
     [](Graph& g) {
       g.value(3).type.shape = {4, 6};
     },
     "node 2 (relu, path 'fc'): output 0 is f32[4, 6], the op yields f32[4, "
     "5]"},
    {"wrong dtype", [](Graph& g) { g.value(5).type.dtype = DType::kInt32; },
     "node 3 (max, path 'fc'): output 1 is i32[4], the op yields i64[4]"},
    {"strides of another rank", [](Graph& g) { g.value(3).strides = {1}; },
     "node 2 (relu, path 'fc'): output 0: strides [1] and offset 0"},
    {"negative stride",
     [](Graph& g) {
       g.value(3).strides = {-5, 1};
     },
     "output 0: strides [-5, 1]"},
    {"strides that overflow",
     [](Graph& g) {
       g.value(3).strides = {kHuge, 1};
     },
     "output 0: strides ["},
    {"negative offset", [](Graph& g) { g.value(3).offset = -1; },
     "output 0: strides [5, 1] and offset -1"},
    {"negative offset of an input", [](Graph& g) { g.value(0).offset = -1; },
     "input 'x': strides [3, 1] and offset -1"},
    {"read without a slot", [](Graph& g) { g.node(0).slot = kNone; },
     "node 0 (read, path 'fc'): slot -1 does not exist; there are 2"},
    {"slot out of range", [](Graph& g) { g.node(4).slot = 2; },
     "node 4 (assign, path 'fc'): slot 2 does not exist"},
    {"slot where none belongs", [](Graph& g) { g.node(2).slot = 0; },
     "node 2 (relu, path 'fc'): has slot 0"},
    {"value that does not fit", [](Graph& g) { g.node(4).slot = 1; },
     "node 4 (assign, path 'fc'): [assign] the value does not fit"},
    {"slots of one name", [](Graph& g) { g.slot(1).name = "fc.w"; },
     "two slots are named 'fc.w'"},
    {"alias of a slot's name", [](Graph& g) { g.slot(0).name = "tied"; },
     "two slots are named 'tied'"},
    {"alias twice",
     [](Graph& g) {
       g.slot(0).aliases = {"a", "a"};
     },
     "two slots are named 'a'"},
    {"negative members", [](Graph& g) { g.slot(1).members = -1; },
     "slot 'b' has an impossible size"},
    {"slot too large", [](Graph& g) { g.slot(1).shape = {kHuge / 2}; },
     "slot 'b' has an impossible size"},
    {"output that does not exist", [](Graph& g) { g.outputs()[0].value = 6; },
     "output 'y' is value 6, which nothing makes"},
    {"output without a value", [](Graph& g) { g.outputs()[0].value = kNone; },
     "output 'y' is value -1"},
    {"output of a removed node",
     [](Graph& g) {
       g.keep_nodes({true, true, true, false, true});
     },
     "output 'y' is value 4, which nothing makes"},
    {"outputs of one name",
     [](Graph& g) {
       g.outputs().push_back({"y", 3});
     },
     "two outputs are named 'y'"},
    {"inputs of one name",
     [](Graph& g) { g.value(g.add_input("z", {})).name = "x"; },
     "two inputs are named 'x'"},
    {"forward after update",
     [](Graph& g) {
       g.node(3).phase = Phase::kUpdate;
       g.node(4).phase = Phase::kForward;
     },
     "node 4 (assign, path 'fc'): phase forward comes after update"},
    {"backward after update",
     [](Graph& g) {
       g.node(0).phase = Phase::kUpdate;
       g.node(1).phase = Phase::kBackward;
     },
     "node 1 (linear, path 'fc'): phase backward comes after update"},
    {"unknown op", [](Graph& g) { g.node(2).op = &kNonsense; },
     "node 2 (nonsense, path 'fc'): [ops] there is no op"},
};

TEST(VerifyTest, TakesAGoodGraph) {
  FakeRules rules;
  EXPECT_EQ(problem_of(sample(rules)), "");
  EXPECT_EQ(problem_of(Graph(rules)), "");
}

TEST(VerifyTest, NamesEachDamage) {
  FakeRules rules;
  for (const Damage& damage : kDamages) {
    Graph graph = sample(rules);
    damage.apply(graph);
    std::string problem = problem_of(graph);
    EXPECT_TRUE(problem.starts_with("[verify] ")) << damage.name;
    EXPECT_NE(problem.find(damage.problem), std::string::npos)
        << damage.name << ": " << problem;
  }
}

TEST(VerifyTest, RecomputationMayRepeatForwardNodesInBackward) {
  FakeRules rules;
  Graph graph = sample(rules);
  graph.node(1).phase = Phase::kBackward;
  EXPECT_EQ(graph.node(2).phase, Phase::kForward);
  EXPECT_EQ(problem_of(graph), "");
}

TEST(VerifyTest, RemovedNodesThatNobodyReadsAreFine) {
  FakeRules rules;
  Graph graph = sample(rules);
  graph.outputs()[0].value = 3;
  graph.keep_nodes({true, true, true, false, true});
  EXPECT_EQ(problem_of(graph), "");
}

TEST(VerifyTest, ViewsWithOtherStridesAreFine) {
  FakeRules rules;
  Graph graph = sample(rules);
  graph.value(3).strides = {0, 7};
  graph.value(3).offset = 12;
  EXPECT_EQ(problem_of(graph), "");
}

TEST(VerifyTest, TypesFitWhenBytesAndStridesCanBeCounted) {
  EXPECT_TRUE(type_fits({DType::kFloat32, {}}));
  EXPECT_TRUE(type_fits({DType::kBool, {kHuge}}));
  EXPECT_FALSE(type_fits({DType::kFloat32, {kHuge}}));
  EXPECT_FALSE(type_fits({DType::kBool, {kHuge, 2}}));
  EXPECT_FALSE(type_fits({DType::kBool, {0, kHuge, 2}}));
  EXPECT_FALSE(type_fits({DType::kBool, {-1}}));
}

TEST(VerifyTest, OnlyThreeOpsUseSlots) {
  FakeRules rules;
  for (const char* op : {"read", "assign", "accumulate"}) {
    EXPECT_TRUE(rules.at(op).uses_slot()) << op;
  }
  EXPECT_FALSE(rules.at("relu").uses_slot());
}

}  // namespace
}  // namespace braid
