#include "braid/passes/rewrite/layout.h"

#include <gtest/gtest.h>

#include "passes/text_graphs.h"

namespace braid::passes {
namespace {

using Names = std::vector<std::string>;

Graph laid_out(const std::string& statements) {
  Graph graph = layout(table(), graph_of(statements));
  verify(graph);
  return graph;
}

const Value& output_value(const Graph& graph, const std::string& name) {
  return graph.value(graph.find_output(name));
}

TEST(LayoutPass, AReshapeOfRowsIsAView) {
  Graph graph = laid_out(R"(
    input %0 "x" f32[4, 6]
    %1: f32[2, 2, 6] = reshape(%0) {shape=[2, 2, 6]}
    output "y" %1
  )");
  EXPECT_EQ(op_names(graph), Names{"view"});
  EXPECT_EQ(output_value(graph, "y").strides, (Strides{12, 6, 1}));
}

TEST(LayoutPass, AReshapeAcrossAPermuteCopiesFirst) {
  Graph graph = laid_out(R"(
    input %0 "x" f32[4, 6]
    %1: f32[6, 4] = permute(%0) {dims=[1, 0]}
    %2: f32[24] = reshape(%1) {shape=[24]} @"fc" segment=3
    output "y" %2
  )");
  EXPECT_EQ(op_names(graph), (Names{"permute", "copy", "view"}));
  const Node& copy = node_of(graph, "copy");
  EXPECT_EQ(copy.path, "fc");
  EXPECT_EQ(copy.segment, 3);
  EXPECT_EQ(copy.phase, Phase::kForward);
  EXPECT_EQ(graph.value(copy.outputs[0]).strides, (Strides{4, 1}));
}

TEST(LayoutPass, CopiesStayInThePhaseOfTheirReshape) {
  Graph graph = laid_out(R"(
    input %0 "x" f32[4, 6]
    %1: f32[6, 4] = permute(%0) {dims=[1, 0]} backward segment=2
    %2: f32[24] = reshape(%1) {shape=[24]} backward segment=2
    output "y" %2
  )");
  EXPECT_EQ(node_of(graph, "copy").phase, Phase::kBackward);
  EXPECT_EQ(node_of(graph, "copy").segment, 2);
}

TEST(LayoutPass, StridesOfViewsAreFixed) {
  Graph graph = laid_out(R"(
    input %0 "x" f32[4, 6]
    %1: f32[4, 2] = slice(%0) {dim=1, start=1, end=5, step=2}
    %2: f32[2, 4] = permute(%1) {dims=[1, 0]}
    %3: f32[3, 2, 4] = expand(%2) {shape=[3, 2, 4]}
    %4: f32[3, 2, 4] = exp(%3)
    output "slice" %1
    output "permute" %2
    output "expand" %3
    output "exp" %4
  )");
  EXPECT_EQ(output_value(graph, "slice").strides, (Strides{6, 2}));
  EXPECT_EQ(output_value(graph, "slice").offset, 1);
  EXPECT_EQ(output_value(graph, "permute").strides, (Strides{2, 6}));
  EXPECT_EQ(output_value(graph, "expand").strides, (Strides{0, 2, 6}));
  EXPECT_EQ(output_value(graph, "expand").offset, 1);
  EXPECT_EQ(output_value(graph, "exp").strides, (Strides{8, 4, 1}));
  EXPECT_EQ(output_value(graph, "exp").offset, 0);
}

TEST(LayoutPass, HeadsOfAttentionJoinWithoutACopy) {
  Graph graph = laid_out(R"(
    input %0 "q" f32[2, 3, 4, 5]
    %1: f32[2, 3, 4, 5], %2: f32[2, 3, 4] = \
      scaled_dot_product_attention(%0, %0, %0) {is_causal=true}
    %3: f32[2, 4, 3, 5] = permute(%1) {dims=[0, 2, 1, 3]}
    %4: f32[2, 4, 15] = reshape(%3) {shape=[2, 4, 15]}
    output "y" %4
  )");
  EXPECT_EQ(count_op(graph, "copy"), 0);
  EXPECT_EQ(output_value(graph, "y").strides, (Strides{60, 15, 1}));
}

TEST(LayoutPass, GradientsAndSlotsAreMapped) {
  StepGraph step{graph_of(R"(
    slot "w" f32[24] parameter constant(0.0)
    input %0 "x" f32[4, 6]
    %1: f32[6, 4] = permute(%0) {dims=[1, 0]}
    %2: f32[24] = reshape(%1) {shape=[24]}
    %3: f32[24] = neg(%2) @"n" rng=0x5
    assign "w" (%3) update
    output "y" %3
  )"),
                 3,
                 {}};
  step.gradients[0] = node_of(step.graph, "neg").outputs[0];
  StepGraph next = layout(table(), step);
  verify(next.graph);
  EXPECT_EQ(next.micro_batches, 3);
  EXPECT_EQ(next.gradients.at(0), node_of(next.graph, "neg").outputs[0]);
  EXPECT_EQ(node_of(next.graph, "neg").rng_key, 5u);
  EXPECT_EQ(node_of(next.graph, "assign").phase, Phase::kUpdate);
  EXPECT_EQ(next.graph.slots(), step.graph.slots());
}

TEST(LayoutPass, IsDoneOnce) {
  Graph once = laid_out(R"(
    input %0 "x" f32[4, 6]
    %1: f32[6, 4] = permute(%0) {dims=[1, 0]}
    %2: f32[24] = reshape(%1) {shape=[24]}
    output "y" %2
  )");
  EXPECT_EQ(print_graph(layout(table(), once)), print_graph(once));
}

// The slot may have other content when the step is over.
TEST(LayoutPass, AnOutputInTheMemoryOfASlotIsCopiedWhereItIsMade) {
  Graph graph = laid_out(R"(
    slot "w" f32[4, 3] buffer constant(0.0)
    %0: f32[4, 3] = read "w"
    %1: f32[3, 4] = permute(%0) {dims=[1, 0]}
    %2: f32[4, 3] = exp(%0)
    assign "w" (%2)
    output "plain" %0
    output "turned" %1
    output "made" %2
  )");
  EXPECT_EQ(op_names(graph),
            (Names{"read", "copy", "permute", "copy", "exp", "assign"}));
  for (const char* name : {"plain", "turned"}) {
    const Value& value = output_value(graph, name);
    EXPECT_EQ(graph.node(value.producer).op->name, "copy") << name;
  }
  EXPECT_EQ(graph.node(output_value(graph, "made").producer).op->name, "exp");
}

}  // namespace
}  // namespace braid::passes
