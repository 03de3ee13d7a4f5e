#include "braid/graph/splice.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "braid/graph/text.h"
#include "braid/graph/verify.h"
#include "fake_rules.h"
#include "thrown.h"

namespace braid {
namespace {

// A layer with a parameter, a buffer that counts its uses, a random op and a
// slot of the member.
const char* const kLayer = R"(braid-graph 1
slot "w" f32[2, 2] parameter constant(1.0) alias="tied.w"
slot "sum" f32[2, 2] buffer constant(0.0)
slot "hyper/drop.p" f64[] hyper constant(0.5)
slot "counter/step" i64[] counter constant(0.0)
input %0 "x" f32[2, 2]
input %1 "extra" f32[2, 2]
%2: f32[2, 2] = read "w" @"fc"
%3: f32[2, 2] = linear(%0, %2, _) @"fc"
%4: f32[2, 2] = dropout(%3) @"drop" rng=0x12ab
%5: f32[2, 2] = read "sum" @"bn"
%6: f32[2, 2] = add(%5, %4) @"bn"
assign "sum" (%6) @"bn"
%7: f32[2, 2] = add(%6, %1)
output "output" %7
)";

class SpliceTest : public testing::Test {
 protected:
  SpliceTest() : layer_(parse_graph(kLayer, rules_)), graph_(rules_) {
    x_ = graph_.add_input("x", {DType::kFloat32, {2, 2}});
  }

  std::vector<const Node*> nodes_of(const std::string& op) const {
    std::vector<const Node*> found;
    for (const Node& node : graph_.nodes()) {
      if (node.op->name == op) found.push_back(&node);
    }
    return found;
  }

  std::string problem_of(const Graph& from, ValueId x) {
    return thrown_by([&] { Splicer(graph_).add(from, "g", {{"x", x}}); });
  }

  FakeRules rules_;
  Graph layer_, graph_;
  ValueId x_ = kNone;
};

TEST_F(SpliceTest, SlotsAndPathsGetTheNameAndCountersStay) {
  Splicer splicer(graph_);
  auto outputs = splicer.add(layer_, "g", {{"x", x_}});
  splicer.finish();
  ASSERT_EQ(graph_.slots().size(), 4u);
  EXPECT_EQ(graph_.slots()[0].name, "g.w");
  EXPECT_EQ(graph_.slots()[0].aliases, std::vector<std::string>{"g.tied.w"});
  EXPECT_EQ(graph_.slots()[1].name, "g.sum");
  EXPECT_EQ(graph_.slots()[2].name, "hyper/g.drop.p");
  EXPECT_EQ(graph_.slots()[3].name, "counter/step");
  EXPECT_EQ(nodes_of("linear")[0]->path, "g.fc");
  EXPECT_EQ(nodes_of("linear")[0]->inputs[0], x_);
  EXPECT_EQ(outputs.size(), 1u);
  EXPECT_EQ(graph_.value(outputs.at("output")).type.shape, (Shape{2, 2}));
  EXPECT_NO_THROW(verify(graph_));
}

TEST_F(SpliceTest, InputsThatAreNotBoundBecomeInputsOnce) {
  Splicer splicer(graph_);
  splicer.add(layer_, "a", {{"x", x_}});
  splicer.add(layer_, "b", {});
  ASSERT_EQ(graph_.inputs().size(), 2u);
  ValueId extra = graph_.find_input("extra");
  ASSERT_NE(extra, kNone);
  EXPECT_EQ(nodes_of("linear")[1]->inputs[0], x_);  // of the same name
  EXPECT_EQ(nodes_of("add")[1]->inputs[1], extra);
  EXPECT_EQ(nodes_of("add")[3]->inputs[1], extra);
}

TEST_F(SpliceTest, TwoNamesShareNothingButCounters) {
  Splicer splicer(graph_);
  splicer.add(layer_, "a", {});
  splicer.add(layer_, "b", {});
  splicer.finish();
  EXPECT_EQ(graph_.slots().size(), 7u);
  EXPECT_EQ(nodes_of("assign").size(), 2u);
  EXPECT_EQ(nodes_of("read").size(), 4u);
}

TEST_F(SpliceTest, ASecondUseSharesSlotsAndSeesWhatTheFirstAssigned) {
  Splicer splicer(graph_);
  auto first = splicer.add(layer_, "g", {{"x", x_}});
  splicer.add(layer_, "g", {{"x", first.at("output")}});
  splicer.finish();
  EXPECT_EQ(graph_.slots().size(), 4u);
  auto adds = nodes_of("add");
  ASSERT_EQ(adds.size(), 4u);
  EXPECT_EQ(adds[2]->inputs[0], adds[0]->outputs[0]);
  auto assigns = nodes_of("assign");
  ASSERT_EQ(assigns.size(), 1u);  // the latest content, once
  EXPECT_EQ(assigns[0]->inputs[0], adds[2]->outputs[0]);
  EXPECT_EQ(assigns[0]->path, "g.bn");
  EXPECT_EQ(assigns[0], &graph_.nodes().back());
  EXPECT_NO_THROW(verify(graph_));
}

TEST_F(SpliceTest, EveryUseDrawsOtherNumbers) {
  Splicer splicer(graph_);
  for (int use = 0; use < 3; ++use) splicer.add(layer_, "g", {});
  splicer.add(layer_, "h", {});
  std::vector<uint64_t> keys;
  for (const Node* node : nodes_of("dropout")) keys.push_back(node->rng_key);
  ASSERT_EQ(keys.size(), 4u);
  EXPECT_NE(keys[0], keys[3]) << "two networks of one kind draw the same";
  std::ranges::sort(keys);
  EXPECT_EQ(std::ranges::adjacent_find(keys), keys.end());
  EXPECT_EQ(std::ranges::count(keys, 0u), 0);
}

TEST_F(SpliceTest, AnInputOfAnotherTypeIsAnError) {
  ValueId wide = graph_.add_input("wide", {DType::kFloat32, {2, 3}});
  EXPECT_EQ(problem_of(layer_, wide),
            "[g] input 'x' is f32[2, 3], expected f32[2, 2]");
  ValueId whole = graph_.add_input("whole", {DType::kInt64, {2, 2}});
  EXPECT_EQ(problem_of(layer_, whole),
            "[g] input 'x' is i64[2, 2], expected f32[2, 2]");
}

// A network that was built for two sizes is not one network.
TEST_F(SpliceTest, ASecondUseWithOtherSlotsIsAnError) {
  Splicer splicer(graph_);
  splicer.add(layer_, "g", {{"x", x_}});
  Graph other = parse_graph(R"(braid-graph 1
slot "w" f32[3, 2] parameter constant(1.0)
input %0 "x" f32[2, 2]
%1: f32[3, 2] = read "w"
%2: f32[2, 3] = linear(%0, %1, _)
output "output" %2
)",
                            rules_);
  try {
    splicer.add(other, "g", {{"x", x_}});
    FAIL() << "took other slots";
  } catch (const std::invalid_argument& error) {
    EXPECT_EQ(std::string(error.what()),
              "[g] 'g.w' is f32[3, 2] in one use and f32[2, 2] in another");
  }
}

}  // namespace
}  // namespace braid
