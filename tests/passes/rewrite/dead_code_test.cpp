#include "braid/passes/rewrite/dead_code.h"

#include <gtest/gtest.h>

#include "passes/text_graphs.h"

namespace braid::passes {
namespace {

using Names = std::vector<std::string>;

const char* kText = R"(
  slot "s" f32[3] buffer constant(0.0)
  input %0 "x" f32[3]
  %1: f32[3] = exp(%0)
  %2: f32[3] = log(%1)
  %3: f32[3] = neg(%0)
  assign "s" (%3)
  %4: f32[3] = tanh(%0)
  %5: f32[3] = sqrt(%4)
  output "y" %1
)";

TEST(Prune, KeepsWhatLeadsToOutputsAndSlots) {
  Graph graph = graph_of(kText);
  remove_dead_code(table(), graph);
  verify(graph);
  EXPECT_EQ(op_names(graph), (Names{"exp", "neg", "assign"}));
}

TEST(Prune, KeepsWantedValuesAndWhatTheyNeed) {
  Graph graph = graph_of(kText);
  ValueId wanted = node_of(graph, "sqrt").outputs[0];
  remove_dead_code(table(), graph, {wanted});
  verify(graph);
  EXPECT_EQ(op_names(graph), (Names{"exp", "neg", "assign", "tanh", "sqrt"}));
  EXPECT_EQ(graph.value(wanted).producer, 4);
}

TEST(Prune, KeepsANodeOfWhichAnyOutputIsUsed) {
  Graph graph = graph_of(R"(
    input %0 "x" f32[1, 1, 2, 2]
    %1: f32[1, 1, 1, 1], %2: i64[1, 1, 1, 1] = \
      max_pool2d(%0) {kernel=[2, 2], stride=[2, 2], padding=[0, 0]}
    output "place" %2
  )");
  remove_dead_code(table(), graph);
  EXPECT_EQ(op_names(graph), Names{"max_pool2d"});
}

}  // namespace
}  // namespace braid::passes
