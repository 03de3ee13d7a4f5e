// What becomes one node, what does not, and that everything still reads what
// it read before.
#include "braid/passes/rewrite/fusion.h"

#include <gtest/gtest.h>

#include "braid/passes/rewrite/layout.h"
#include "passes/text_graphs.h"

namespace braid::passes {
namespace {

using Names = std::vector<std::string>;

Graph fused(const std::string& statements) {
  StepGraph step{graph_of(statements), 1, {}};
  step = fusion(table(), layout(table(), step));
  verify(step.graph);
  return std::move(step.graph);
}

std::string steps_of(const Graph& graph, int n = 0) {
  return node_of(graph, "fusion", n).attrs.text("steps");
}

Ints outputs_of(const Graph& graph, int n = 0) {
  return node_of(graph, "fusion", n).attrs.ints("outputs");
}

TEST(FusionPass, ARunBecomesOneNode) {
  Graph graph = fused(R"(
    input %0 "x" f32[4, 6]
    input %1 "b" f32[6]
    %2: f32[4, 6] = add(%0, %1) @"a" segment=2
    %3: f32[4, 6] = mul_scalar(%2) {value=0.5} @"b" segment=2
    %4: f32[4, 6] = relu(%3) @"c" segment=2
    output "y" %4
  )");
  EXPECT_EQ(op_names(graph), Names{"fusion"});
  const Node& node = node_of(graph, "fusion");
  EXPECT_EQ(steps_of(graph),
            "add(x0, x1); mul_scalar(s0, value=0.5); relu(s1)");
  EXPECT_EQ(outputs_of(graph), Ints{2});
  EXPECT_EQ(node.inputs, (std::vector<ValueId>{0, 1}));
  EXPECT_EQ(node.path, "c");
  EXPECT_EQ(node.segment, 2);
}

TEST(FusionPass, OneNodeStaysWhatItWas) {
  Graph graph = fused(R"(
    input %0 "x" f32[4, 6]
    %1: f32[4, 6] = relu(%0)
    %2: f32[6, 4] = permute(%1) {dims=[1, 0]}
    %3: f32[6, 4] = exp(%2)
    output "y" %3
  )");
  EXPECT_EQ(op_names(graph), (Names{"relu", "permute", "exp"}));
}

TEST(FusionPass, WhatOthersReadIsAnOutput) {
  Graph graph = fused(R"(
    input %0 "x" f32[6, 6]
    %1: f32[6, 6] = exp(%0)
    %2: f32[6, 6] = neg(%1)
    %3: f32[6, 6] = relu(%2)
    %4: f32[6, 6] = matmul(%0, %2)
    output "y" %3
    output "e" %1
    output "p" %4
  )");
  EXPECT_EQ(op_names(graph), (Names{"fusion", "matmul"}));
  EXPECT_EQ(outputs_of(graph), (Ints{0, 1, 2}));
  const Node& node = node_of(graph, "fusion");
  EXPECT_EQ(node_of(graph, "matmul").inputs[1], node.outputs[1]);
  EXPECT_EQ(graph.find_output("e"), node.outputs[0]);
  EXPECT_EQ(graph.find_output("y"), node.outputs[2]);
}

// The product comes between: the second neg would read it.
TEST(FusionPass, AReaderClosesTheRun) {
  Graph graph = fused(R"(
    input %0 "x" f32[6, 6]
    %1: f32[6, 6] = exp(%0)
    %2: f32[6, 6] = neg(%1)
    %3: f32[6, 6] = matmul(%0, %2)
    %4: f32[6, 6] = add(%2, %3)
    %5: f32[6, 6] = relu(%4)
    output "y" %5
  )");
  EXPECT_EQ(op_names(graph), (Names{"fusion", "matmul", "fusion"}));
  EXPECT_EQ(steps_of(graph, 0), "exp(x0); neg(s0)");
  EXPECT_EQ(steps_of(graph, 1), "add(x0, x1); relu(s0)");
}

// Nodes that read nothing of a run do not end it.
TEST(FusionPass, OthersMayStandBetween) {
  Graph graph = fused(R"(
    input %0 "x" f32[6, 6]
    %1: f32[6, 6] = exp(%0)
    %2: f32[6, 6] = matmul(%0, %0)
    %3: f32[6, 6] = add(%1, %2)
    output "y" %3
  )");
  EXPECT_EQ(op_names(graph), (Names{"matmul", "fusion"}));
  EXPECT_EQ(steps_of(graph), "exp(x0); add(s0, x1)");
}

// Two products would have to wait for the third: sums of gradients.
TEST(FusionPass, SumsDoNotWaitWithTheirTerms) {
  Graph graph = fused(R"(
    input %0 "x" f32[6, 6]
    %1: f32[6, 6] = matmul(%0, %0)
    %2: f32[6, 6] = matmul(%0, %1)
    %3: f32[6, 6] = add(%1, %2)
    %4: f32[6, 6] = matmul(%0, %0)
    %5: f32[6, 6] = add(%3, %4)
    output "y" %5
  )");
  EXPECT_EQ(op_names(graph),
            (Names{"matmul", "matmul", "add", "matmul", "add"}));
}

// One product waits in place of its negative.
TEST(FusionPass, OneTermMayWait) {
  Graph graph = fused(R"(
    input %0 "x" f32[6, 6]
    %1: f32[6, 6] = matmul(%0, %0)
    %2: f32[6, 6] = neg(%1)
    %3: f32[6, 6] = matmul(%0, %0)
    %4: f32[6, 6] = add(%2, %3)
    output "y" %4
  )");
  EXPECT_EQ(op_names(graph), (Names{"matmul", "matmul", "fusion"}));
}

// As in the gates of an LSTM.
TEST(FusionPass, RunsThatMeetBecomeOne) {
  Graph graph = fused(R"(
    input %0 "a" f64[4, 6]
    input %1 "b" f64[4, 6]
    %2: f64[4, 6] = sigmoid(%0)
    %3: f64[4, 6] = tanh(%1)
    %4: f64[4, 6] = exp(%2)
    %5: f64[4, 6] = mul(%4, %3)
    output "y" %5
  )");
  EXPECT_EQ(op_names(graph), Names{"fusion"});
  EXPECT_EQ(steps_of(graph), "sigmoid(x0); tanh(x1); exp(s0); mul(s2, s1)");
}

// The second run stands between the first and the place where they meet.
TEST(FusionPass, RunsThatMeetDoNotWaitForEachOther) {
  Graph graph = fused(R"(
    input %0 "x" f32[6, 6]
    %1: f32[6, 6] = matmul(%0, %0)
    %2: f32[6, 6] = matmul(%0, %1)
    %3: f32[6, 6] = add(%1, %2)
    %4: f32[6, 6] = square(%0)
    %5: f32[6, 6] = mul_scalar(%4) {value=3.0}
    %6: f32[6, 6] = mul(%3, %5)
    output "y" %6
  )");
  EXPECT_EQ(op_names(graph), (Names{"matmul", "matmul", "fusion"}));
}

TEST(FusionPass, OtherShapesAreOtherRuns) {
  Graph graph = fused(R"(
    input %0 "x" f32[6]
    input %1 "b" f32[4, 6]
    %2: f32[6] = exp(%0)
    %3: f32[6] = neg(%2)
    %4: f32[4, 6] = add(%1, %3)
    %5: f32[4, 6] = relu(%4)
    output "y" %5
  )");
  EXPECT_EQ(op_names(graph), (Names{"fusion", "fusion"}));
  EXPECT_EQ(steps_of(graph, 0), "exp(x0); neg(s0)");
  EXPECT_EQ(steps_of(graph, 1), "add(x0, x1); relu(s0)");
}

TEST(FusionPass, OtherTypesAndAttributesStay) {
  Graph graph = fused(R"(
    input %0 "x" i64[6]
    input %1 "y" f32[6]
    %2: i64[6] = neg(%0)
    %3: i64[6] = neg(%2)
    %4: f32[6] = gelu(%1)
    %5: f32[6] = gelu(%4)
    %6: f32[6] = add(%5, %3)
    output "y" %6
  )");
  EXPECT_EQ(op_names(graph), (Names{"neg", "neg", "gelu", "gelu", "add"}));
}

TEST(FusionPass, PhasesAndSegmentsStayApart) {
  Graph graph = fused(R"(
    input %0 "x" f32[6]
    %1: f32[6] = exp(%0)
    %2: f32[6] = neg(%1) segment=1
    %3: f32[6] = neg(%2) backward segment=1
    output "y" %3
  )");
  EXPECT_EQ(op_names(graph), (Names{"exp", "neg", "neg"}));
}

TEST(FusionPass, UpdatesAreLeftAlone) {
  Graph graph = fused(R"(
    input %0 "x" f32[6]
    %1: f32[6] = exp(%0) update
    %2: f32[6] = neg(%1) update
    output "y" %2
  )");
  EXPECT_EQ(op_names(graph), (Names{"exp", "neg"}));
}

// Were exp computed in place of neg, it would see what was assigned.
TEST(FusionPass, SlotsAreReadBeforeTheyAreWritten) {
  Graph graph = fused(R"(
    slot "w" f32[6] buffer constant(0.0)
    input %0 "x" f32[6]
    %1: f32[6] = read "w"
    %2: f32[6] = exp(%1)
    assign "w" (%0)
    %3: f32[6] = neg(%2)
    output "y" %3
  )");
  EXPECT_EQ(op_names(graph), (Names{"read", "exp", "assign", "neg"}));
}

TEST(FusionPass, RowsMayBeBroadcastAndPartsOfOthers) {
  Graph graph = fused(R"(
    input %0 "x" f32[4, 12]
    input %1 "b" f32[4, 1]
    %2: f32[4, 6] = slice(%0) {dim=1, start=3, end=9, step=1}
    %3: f32[4, 6] = add(%2, %1)
    %4: f32[4, 6] = relu(%3)
    output "y" %4
  )");
  EXPECT_EQ(op_names(graph), (Names{"slice", "fusion"}));
  const Value& part = graph.value(node_of(graph, "slice").outputs[0]);
  EXPECT_EQ(part.strides, (Strides{12, 1}));
  EXPECT_EQ(part.offset, 3);
}

TEST(FusionPass, TurnedInputsAreLeftToTheOpAlone) {
  Graph graph = fused(R"(
    input %0 "x" f32[6, 4]
    input %1 "b" f32[4, 1]
    %2: f32[4, 6] = permute(%0) {dims=[1, 0]}
    %3: f32[4, 6] = add(%2, %1)
    %4: f32[4, 6] = relu(%3)
    %5: f32[4, 6] = neg(%4)
    output "y" %5
  )");
  EXPECT_EQ(op_names(graph), (Names{"permute", "add", "fusion"}));
}

// The results of these lie as their inputs do.
TEST(FusionPass, ChannelsLastStays) {
  Graph graph = fused(R"(
    input %0 "x" f32[2, 3, 4, 4]
    input %1 "w" f32[5, 3, 1, 1]
    %2: f32[2, 5, 4, 4] = conv2d(%0, %1) {stride=[1, 1], padding=[0, 0], \
      dilation=[1, 1], groups=1, channels_last=true}
    %3: f32[2, 5, 4, 4] = neg(%2)
    %4: f32[2, 5, 4, 4] = relu(%3)
    output "y" %4
  )");
  EXPECT_EQ(op_names(graph), (Names{"conv2d", "neg", "relu"}));
  EXPECT_EQ(graph.value(graph.find_output("y")).strides,
            (Strides{80, 1, 20, 5}));
}

// Of n terms, all of them inputs.
std::string sum_of(int n) {
  std::string text;
  for (int i = 0; i < n; ++i) {
    text += fmt::format("input %{} \"x{}\" f32[6]\n", i, i);
  }
  int sum = 0;
  for (int i = 1; i < n; ++i) {
    text += fmt::format("%{}: f32[6] = add(%{}, %{})\n", n + i, sum, i);
    sum = n + i;
  }
  return text + fmt::format("output \"y\" %{}\n", sum);
}

TEST(FusionPass, ManyInputsAreSeveralFusions) {
  EXPECT_EQ(op_names(fused(sum_of(8))), Names{"fusion"});
  EXPECT_EQ(op_names(fused(sum_of(9))), (Names{"fusion", "add"}));
  EXPECT_EQ(op_names(fused(sum_of(15))), (Names{"fusion", "fusion"}));
}

TEST(FusionPass, ManyStepsAreSeveralFusions) {
  std::string text = "input %0 \"x\" f32[6]\n";
  for (int i = 1; i <= 30; ++i) {
    text += fmt::format("%{}: f32[6] = neg(%{})\n", i, i - 1);
  }
  Graph graph = fused(text + "output \"y\" %30\n");
  EXPECT_EQ(op_names(graph), (Names{"fusion", "fusion"}));
  EXPECT_EQ(outputs_of(graph, 0), Ints{23});
  EXPECT_EQ(outputs_of(graph, 1), Ints{5});
}

TEST(FusionPass, ManyOutputsAreSeveralFusions) {
  std::string text = "input %0 \"x\" f32[6]\n", outputs;
  for (int i = 1; i <= 6; ++i) {
    text += fmt::format("%{}: f32[6] = neg(%{})\n", i, i - 1);
    outputs += fmt::format("output \"y{}\" %{}\n", i, i);
  }
  Graph graph = fused(text + outputs);
  EXPECT_EQ(op_names(graph), (Names{"fusion", "fusion"}));
  EXPECT_EQ(outputs_of(graph, 0), (Ints{0, 1, 2, 3}));
}

TEST(FusionPass, GradientsAndSlotsAreMapped) {
  StepGraph step{graph_of(R"(
    slot "w" f32[6] parameter constant(0.0)
    input %0 "x" f32[6]
    %1: f32[6] = exp(%0) backward
    %2: f32[6] = neg(%1) backward
    %3: f32[6] = relu(%2) backward
    assign "w" (%3) update
  )"),
                 3,
                 {}};
  step.gradients[0] = node_of(step.graph, "neg").outputs[0];
  StepGraph next = fusion(table(), layout(table(), step));
  verify(next.graph);
  EXPECT_EQ(next.micro_batches, 3);
  EXPECT_EQ(op_names(next.graph), (Names{"fusion", "assign"}));
  EXPECT_EQ(next.gradients.at(0), node_of(next.graph, "fusion").outputs[0]);
  EXPECT_EQ(next.graph.slots(), step.graph.slots());
}

}  // namespace
}  // namespace braid::passes
