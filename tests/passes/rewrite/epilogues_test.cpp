#include "braid/passes/rewrite/epilogues.h"

#include <gtest/gtest.h>

#include "braid/passes/step/autodiff.h"
#include "passes/text_graphs.h"

namespace braid::passes {
namespace {

using Names = std::vector<std::string>;

const std::string kLayer = R"(
  input %0 "x" f32[4, 3]
  input %1 "w" f32[5, 3]
  input %2 "b" f32[5]
  %3: f32[4, 5] = linear(%0, %1, %2) @"fc"
)";
const std::string kActive = kLayer + R"(
  %4: f32[4, 5] = relu(%3) @"act"
  %5: f32[4, 5] = mul(%4, %4) @"head"
  output "y" %5
)";

Graph joined(const std::string& text) {
  StepGraph step = epilogues(StepGraph{graph_of(text)});
  verify(step.graph);
  return std::move(step.graph);
}

TEST(Epilogues, ReluBecomesPartOfTheLayer) {
  Graph graph = joined(kActive);
  EXPECT_EQ(op_names(graph), (Names{"linear", "mul"}));
  const Node& linear = node_of(graph, "linear");
  EXPECT_EQ(linear.attrs.text("activation"), "relu");
  EXPECT_EQ(linear.path, "fc");
  EXPECT_EQ(node_of(graph, "mul").inputs,
            (std::vector<ValueId>{linear.outputs[0], linear.outputs[0]}));
}

TEST(Epilogues, AResultMayBeTheRelu) {
  Graph graph =
      joined(kLayer + "  %4: f32[4, 5] = relu(%3)\n" + "  output \"y\" %4\n");
  EXPECT_EQ(op_names(graph), (Names{"linear"}));
  EXPECT_EQ(graph.outputs()[0].value, node_of(graph, "linear").outputs[0]);
}

TEST(Epilogues, WhatAnotherReadsStays) {
  Names before{"linear", "relu", "mul"};
  EXPECT_EQ(op_names(joined(kActive + "  output \"z\" %3\n")), before);
  before.push_back("neg");
  EXPECT_EQ(op_names(joined(kActive + "  %6: f32[4, 5] = neg(%3)\n")), before);
}

TEST(Epilogues, OtherPairsStay) {
  Names twice =
      op_names(joined(kLayer + "  %4: f32[4, 5] = relu(%3)\n" +
                      "  %5: f32[4, 5] = relu(%4)\n" + "  output \"y\" %5\n"));
  EXPECT_EQ(twice, (Names{"linear", "relu"}));
  Names other = op_names(
      joined(kLayer + "  %4: f32[4, 5] = tanh(%3)\n" + "  output \"y\" %4\n"));
  EXPECT_EQ(other, (Names{"linear", "tanh"}));
  Names before = op_names(joined(R"(
    input %0 "x" f32[4, 3]
    %1: f32[4, 3] = relu(%0)
    output "y" %1
  )"));
  EXPECT_EQ(before, (Names{"relu"}));
}

TEST(Epilogues, SegmentsStayApart) {
  Graph graph = graph_of(kActive);
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    Node& node = graph.node(id);
    if (node.op->name != "linear") node.segment = 1;
  }
  Graph after = epilogues(StepGraph{std::move(graph)}).graph;
  EXPECT_EQ(count_op(after, "relu"), 1);
}

// The backward part reads the result, which is there.
TEST(Epilogues, GradientsComeFromTheResult) {
  Graph forward = graph_of(R"(
    slot "w" f32[5, 3] parameter constant(0.5)
    input %0 "x" f32[4, 3]
    %1: f32[5, 3] = read "w"
    %2: f32[4, 5] = linear(%0, %1)
    %3: f32[4, 5] = relu(%2)
    %4: f32[] = sum(%3) {dims=[0, 1], keep_dims=false}
    output "loss" %4
  )");
  Gradients gradients = differentiate(table(), std::move(forward));
  StepGraph step =
      epilogues({std::move(gradients.graph), 1, std::move(gradients.of_slot)});
  verify(step.graph);
  EXPECT_EQ(count_op(step.graph, "relu"), 0);
  EXPECT_EQ(node_of(step.graph, "relu_backward").inputs[1],
            node_of(step.graph, "linear").outputs[0]);
  ASSERT_EQ(step.gradients.size(), 1u);
  EXPECT_EQ(step.graph.value(step.gradients.begin()->second).type.shape,
            (Shape{5, 3}));
}

}  // namespace
}  // namespace braid::passes
