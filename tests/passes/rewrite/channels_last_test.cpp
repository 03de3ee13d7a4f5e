// Which convolutions work on channels that lie last, and how far that reaches.
#include "braid/passes/rewrite/channels_last.h"

#include <gtest/gtest.h>

#include "braid/ops/core/channels_last.h"
#include "braid/passes/rewrite/fusion.h"
#include "braid/passes/rewrite/layout.h"
#include "passes/text_graphs.h"

namespace braid::passes {
namespace {

StepGraph laid_out(const std::string& statements) {
  StepGraph step{graph_of(statements), 1, {}};
  channels_last(step);
  step = layout(table(), step);
  verify(step.graph);
  return step;
}

bool lies_last(const Graph& graph, const Node& node) {
  const Value& value = graph.value(node.outputs[0]);
  return value.strides == channels_last_strides(value.type.shape);
}

constexpr const char* kConv = R"(
    input %0 "x" f32[2, 3, 8, 8]
    input %1 "w" f32[4, 3, 3, 3]
    %2: bf16[2, 3, 8, 8] = to(%0) {dtype="bf16"}
    %3: bf16[4, 3, 3, 3] = to(%1) {dtype="bf16"}
    %4: bf16[2, 4, 8, 8] = conv2d(%2, %3) \
        {dilation=[1, 1], groups=1, padding=[1, 1], stride=[1, 1]}
    %5: bf16[2, 4, 8, 8] = relu(%4)
    %6: f32[2, 4, 8, 8] = to(%5) {dtype="f32"}
    output "y" %6
)";

TEST(ChannelsLast, OperandsAndResultsOfNarrowConvolutions) {
  StepGraph step = laid_out(kConv);
  const Graph& graph = step.graph;
  for (const char* op : {"to", "conv2d", "relu"}) {
    EXPECT_TRUE(lies_last(graph, node_of(graph, op))) << op;
  }
  EXPECT_TRUE(lies_last(graph, node_of(graph, "to", 1)));  // of the weight
  EXPECT_TRUE(lies_last(graph, node_of(graph, "to", 2)));
}

TEST(ChannelsLast, FusionsOfMixedTypesWalkThroughThem) {
  StepGraph step = laid_out(kConv);
  StepGraph mixed = fusion(table(), step, {.mixed = true});
  verify(mixed.graph);
  EXPECT_EQ(node_of(mixed.graph, "fusion").attrs.text("steps"),
            "relu(x0); to_f32(s0)");
  EXPECT_TRUE(lies_last(mixed.graph, node_of(mixed.graph, "fusion")));
  EXPECT_EQ(count_op(fusion(table(), step).graph, "fusion"), 0);
}

TEST(ChannelsLast, WideOnesStayInRows) {
  StepGraph step = laid_out(R"(
    input %0 "x" f32[2, 3, 8, 8]
    input %1 "w" f32[4, 3, 3, 3]
    %2: f32[2, 4, 6, 6] = conv2d(%0, %1) \
        {dilation=[1, 1], groups=1, padding=[0, 0], stride=[1, 1]}
    output "y" %2
  )");
  EXPECT_FALSE(lies_last(step.graph, node_of(step.graph, "conv2d")));
}

TEST(ChannelsLast, MembersLieOneAfterTheOther) {
  StepGraph step = laid_out(R"(
    input %0 "x" bf16[5, 2, 3, 8, 8]
    input %1 "w" bf16[5, 4, 3, 3, 3]
    %2: bf16[5, 2, 4, 6, 6] = conv2d(%0, %1) \
        {dilation=[1, 1], groups=1, members=5, padding=[0, 0], stride=[1, 1]}
    %3: bf16[5, 2, 4, 6, 6] = relu(%2)
    output "y" %3
  )");
  const Graph& graph = step.graph;
  EXPECT_EQ(graph.value(node_of(graph, "relu").outputs[0]).strides,
            (Strides{2 * 4 * 36, 4 * 36, 1, 24, 4}));
}

}  // namespace
}  // namespace braid::passes
