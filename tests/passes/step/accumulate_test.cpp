#include "braid/passes/step/accumulate.h"

#include <gtest/gtest.h>

#include "braid/passes/names.h"
#include "passes/text_graphs.h"

namespace braid::passes {
namespace {

const char* kText = R"(
  slot "a" f32[4, 3] parameter constant(1.0) members=2
  slot "b" f64[3] parameter constant(1.0)
  slot "count" i64[] buffer constant(0.0)
  input %0 "x" f32[2, 4, 3]
  %1: f32[2, 4, 3] = read "a" @"first" segment=1
  %2: f32[2, 4, 3] = mul(%0, %1) @"first" segment=1
  %3: f32[] = sum(%2) {dims=[0, 1, 2], keep_dims=false} @"first" segment=1
  %4: i64[] = read "count"
  %5: i64[] = add_scalar(%4) {value=1}
  assign "count" (%5)
  output "loss" %3
)";

StepGraph step_of(int64_t micro_batches) {
  Gradients gradients = differentiate(table(), graph_of(kText));
  StepGraph step = accumulate(table(), std::move(gradients), micro_batches);
  verify(step.graph);
  return step;
}

TEST(Accumulate, OneMicroBatchAddsNothing) {
  StepGraph step = step_of(1);
  EXPECT_EQ(step.micro_batches, 1);
  EXPECT_EQ(count_op(step.graph, "accumulate"), 0);
  EXPECT_EQ(step.graph.slots().size(), 3u);
  EXPECT_EQ(step.graph.find_input(kMicroInput), kNone);
}

TEST(Accumulate, EachGradientHasASlotOfItsParametersType) {
  StepGraph step = step_of(4);
  EXPECT_EQ(step.micro_batches, 4);
  const Slot& sum = slot_of(step.graph, "gradient/a");
  EXPECT_EQ(sum.role, Role::kGradient);
  EXPECT_EQ(sum.members, 2);
  EXPECT_EQ(sum.shape, (Shape{4, 3}));
  EXPECT_EQ(sum.init, Init::constant(0));
  EXPECT_EQ(step.graph.find_slot("gradient/b"), kNone);  // unused
  EXPECT_EQ(node_of(step.graph, "accumulate").attrs.number("scale"), 0.25);
}

TEST(Accumulate, FollowsTheNodeThatMakesTheGradient) {
  StepGraph step = step_of(4);
  const Graph& graph = step.graph;
  const Node& node = node_of(graph, "accumulate");
  NodeId at = id_of(graph, node);
  EXPECT_EQ(graph.value(node.inputs[0]).producer, at - 1);
  EXPECT_EQ(node.inputs[1], graph.find_input(kMicroInput));
  EXPECT_EQ(node.phase, Phase::kBackward);
  EXPECT_EQ(node.path, "first");
  EXPECT_EQ(node.segment, 1);
}

TEST(Accumulate, TheUpdateReadsTheSum) {
  StepGraph step = step_of(4);
  const Graph& graph = step.graph;
  ASSERT_EQ(step.gradients.size(), 1u);
  auto [slot, gradient] = *step.gradients.begin();
  EXPECT_EQ(graph.slot(slot).name, "a");
  const Node& read = graph.node(graph.value(gradient).producer);
  EXPECT_EQ(read.op->name, "read");
  EXPECT_EQ(read.phase, Phase::kUpdate);
  EXPECT_EQ(graph.slot(read.slot).name, "gradient/a");
  EXPECT_EQ(id_of(graph, read), static_cast<NodeId>(graph.nodes().size()) - 1);
}

TEST(Accumulate, TheMicroIndexIsOneInput) {
  Graph forward = graph_of(R"(
    slot "a" f32[3] parameter constant(1.0)
    slot "b" f32[3] parameter constant(1.0)
    input %0 "/micro" i64[]
    %1: f32[3] = read "a"
    %2: f32[3] = read "b"
    %3: f32[3] = mul(%1, %2)
    %4: f32[] = sum(%3) {dims=[0], keep_dims=false}
    output "loss" %4
  )");
  StepGraph step =
      accumulate(table(), differentiate(table(), std::move(forward)), 2);
  EXPECT_EQ(step.graph.inputs().size(), 1u);
  EXPECT_EQ(count_op(step.graph, "accumulate"), 2);
}

TEST(Accumulate, NeedsAMicroBatch) {
  EXPECT_THROW(step_of(0), std::invalid_argument);
  EXPECT_THROW(step_of(-3), std::invalid_argument);
}

}  // namespace
}  // namespace braid::passes
