#include "braid/passes/step/loss_scale.h"

#include <gtest/gtest.h>

#include "braid/passes/array/array.h"
#include "braid/passes/step/accumulate.h"
#include "braid/passes/step/guard_buffers.h"
#include "passes/text_graphs.h"

namespace braid::passes {
namespace {

const std::string kModel = R"(
  slot "w" f32[3] parameter constant(0.5)
  slot "mean" f32[3] buffer constant(0.0)
  input %0 "x" f32[3]
  %1: f32[3] = read "w" @"fc"
  %2: f32[3] = mul(%0, %1) @"fc"
  assign "mean" (%2) @"fc"
  %3: f32[] = sum(%2) {dims=[0], keep_dims=false} @"fc"
  output "loss" %3
)";

Optimizer with(std::initializer_list<std::pair<const char*, double>> options) {
  Optimizer optimizer = make_optimizer("sgd");
  for (auto [name, value] : options) set_option(optimizer, name, value);
  return optimizer;
}

Graph step_of(const Optimizer& optimizer, int64_t members) {
  Graph forward = scale_loss(graph_of(kModel), optimizer);
  verify(forward);
  if (members > 0) forward = array(table(), forward, {.members = members});
  StepGraph step = add_optimizer(
      table(), accumulate(table(), differentiate(table(), forward), 1),
      optimizer);
  verify(step.graph);
  return std::move(step.graph);
}

double first_of(const Graph& graph, const std::string& slot) {
  return graph.slot(graph.find_slot(slot)).init.a;
}

TEST(LossScale, AnyOfItsValuesTurnsItOn) {
  EXPECT_FALSE(make_optimizer("sgd").scales_loss);
  Optimizer fixed = with({{"loss_scale", 8}});
  EXPECT_TRUE(fixed.scales_loss && fixed.skip_nonfinite);
  EXPECT_EQ(fixed.hyper.at("growth_interval"), 0);
  EXPECT_EQ(fixed.hyper.at("skip_nonfinite"), 1);
  Optimizer moving = with({{"growth_interval", 100}});
  EXPECT_EQ(moving.hyper.at("loss_scale"), 65536);
  EXPECT_EQ(moving.hyper.at("growth_factor"), 2);
  EXPECT_EQ(moving.hyper.at("backoff_factor"), 0.5);
}

TEST(LossScale, WhoMayScaleDoesNotYet) {
  Optimizer optimizer = make_optimizer("sgd");
  allow_loss_scale(optimizer);
  EXPECT_EQ(optimizer.hyper.at("loss_scale"), 1);
  EXPECT_EQ(optimizer.hyper.at("skip_nonfinite"), 0);
  Optimizer scaled = with({{"loss_scale", 8}});
  allow_loss_scale(scaled);
  EXPECT_EQ(scaled.hyper.at("loss_scale"), 8);
  EXPECT_EQ(scaled.hyper.at("skip_nonfinite"), 1);
}

// The gradient of the loss is the scale, and updates read what is divided.
TEST(LossScale, GradientsAreScaledAndDividedAgain) {
  for (int64_t members : {0, 4}) {
    Graph graph = step_of(with({{"loss_scale", 8}, {"clip_norm", 1}}), members);
    EXPECT_EQ(first_of(graph, "hyper/loss_scale"), 8);
    EXPECT_EQ(first_of(graph, "counter/loss_scale"), 1);
    EXPECT_EQ(graph.slot(graph.find_slot("counter/loss_scale")).members,
              members);
    EXPECT_EQ(count_op(graph, "unscale"), 1);
    ValueId divided = node_of(graph, "unscale").outputs[0];
    EXPECT_EQ(node_of(graph, "sum_squares").inputs[0], divided);
    EXPECT_EQ(node_of(graph, "sgd_update").inputs[1], divided);
    EXPECT_EQ(node_of(graph, "loss_scale_update").inputs[2],
              node_of(graph, "is_finite").outputs[0]);
    ValueId loss = graph.find_output("loss");
    EXPECT_EQ(graph.node(graph.value(loss).producer).op->name,
              "scale_gradient");
  }
}

TEST(LossScale, OfSeveralOptimizersHasItsScope) {
  Optimizer optimizer = with({{"loss_scale", 8}});
  optimizer.scope = "critic";
  Graph graph = step_of(optimizer, 0);
  EXPECT_NE(graph.find_slot("hyper/critic/loss_scale"), kNone);
  EXPECT_NE(graph.find_slot("counter/critic/loss_scale"), kNone);
  EXPECT_NE(graph.find_slot("counter/critic/loss_scale_growth"), kNone);
}

// Whether a member skips is its own number, which buffers look at too.
TEST(LossScale, BuffersAreGuardedByTheMembersOwnSwitch) {
  Graph graph = guard_buffers(graph_of(kModel), 0, "critic");
  verify(graph);
  EXPECT_EQ(first_of(graph, "hyper/critic/skip_nonfinite"), 0);
  EXPECT_EQ(count_op(graph, "where"), 1);
  EXPECT_EQ(count_op(graph, "eq_scalar"), 1);
}

}  // namespace
}  // namespace braid::passes
