#include "braid/passes/step/autodiff.h"

#include <gtest/gtest.h>

#include "passes/text_graphs.h"
#include "thrown.h"

namespace braid::passes {
namespace {

Gradients gradients_of(const std::string& statements) {
  Gradients result = differentiate(table(), graph_of(statements));
  verify(result.graph);
  for (auto [slot, value] : result.of_slot) {
    const Slot& s = result.graph.slot(slot);
    EXPECT_EQ(result.graph.value(value).type,
              (ValueType{s.dtype, s.stored_shape()}));
  }
  return result;
}

std::string problem_of(const std::string& statements) {
  return thrown_by([&] { gradients_of(statements); });
}

const Node& producer(const Gradients& g, const std::string& slot) {
  ValueId value = g.of_slot.at(g.graph.find_slot(slot));
  return g.graph.node(g.graph.value(value).producer);
}

TEST(Autodiff, ContributionsToAValueUsedTwiceAreSummed) {
  Gradients g = gradients_of(R"(
    slot "w" f32[3] parameter constant(1.0)
    %0: f32[3] = read "w"
    %1: f32[3] = mul(%0, %0)
    %2: f32[] = sum(%1) {dims=[0], keep_dims=false}
    output "loss" %2
  )");
  EXPECT_EQ(producer(g, "w").op->name, "add");
  EXPECT_EQ(count_op(g.graph, "mul"), 3);
}

TEST(Autodiff, ReadsOfOneSlotAreSummed) {
  Gradients g = gradients_of(R"(
    slot "w" f32[3] parameter constant(1.0)
    %0: f32[3] = read "w"
    %1: f32[3] = read "w"
    %2: f32[3] = exp(%0)
    %3: f32[3] = mul(%2, %1)
    %4: f32[] = sum(%3) {dims=[0], keep_dims=false}
    output "loss" %4
  )");
  ASSERT_EQ(g.of_slot.size(), 1u);
  EXPECT_EQ(producer(g, "w").op->name, "add");
}

TEST(Autodiff, FrozenUnusedAndUnreachedParametersGetNone) {
  Gradients g = gradients_of(R"(
    slot "used" f32[3] parameter constant(1.0)
    slot "frozen" f32[3] parameter constant(1.0) frozen
    slot "unused" f32[3] parameter constant(1.0)
    slot "aside" f32[3] parameter constant(1.0)
    slot "buffer" f32[3] buffer constant(1.0)
    %0: f32[3] = read "used"
    %1: f32[3] = read "frozen"
    %2: f32[3] = read "unused"
    %3: f32[3] = read "aside"
    %4: f32[3] = read "buffer"
    %5: f32[3] = mul(%0, %1)
    %6: f32[3] = mul(%5, %4)
    %7: f32[] = sum(%6) {dims=[0], keep_dims=false}
    %8: f32[3] = exp(%3)
    output "loss" %7
    output "aside" %8
  )");
  ASSERT_EQ(g.of_slot.size(), 1u);
  EXPECT_TRUE(g.of_slot.contains(g.graph.find_slot("used")));
}

TEST(Autodiff, ABroadcastOperandGetsItsOwnShape) {
  Gradients g = gradients_of(R"(
    slot "a" f32[4, 3] parameter constant(1.0)
    slot "b" f32[3] parameter constant(1.0)
    slot "c" f32[] parameter constant(1.0)
    %0: f32[4, 3] = read "a"
    %1: f32[3] = read "b"
    %2: f32[] = read "c"
    %3: f32[4, 3] = div(%0, %1)
    %4: f32[4, 3] = sub(%3, %2)
    %5: f32[] = sum(%4) {dims=[0, 1], keep_dims=false}
    output "loss" %5
  )");
  EXPECT_EQ(g.of_slot.size(), 3u);
}

TEST(Autodiff, BufferAssignmentsComeLast) {
  Gradients g = gradients_of(R"(
    slot "w" f32[3] parameter constant(1.0)
    slot "count" i64[] buffer constant(0.0)
    slot "mean" f32[3] buffer constant(0.0)
    %0: i64[] = read "count"
    %1: i64[] = add_scalar(%0) {value=1}
    assign "count" (%1)
    %2: f32[3] = read "w"
    assign "mean" (%2)
    %3: f32[3] = exp(%2)
    %4: f32[] = sum(%3) {dims=[0], keep_dims=false}
    output "loss" %4
  )");
  const auto& nodes = g.graph.nodes();
  ASSERT_GE(nodes.size(), 2u);
  EXPECT_EQ(count_op(g.graph, "assign"), 2);
  for (size_t i = nodes.size() - 2; i < nodes.size(); ++i) {
    EXPECT_EQ(nodes[i].op->name, "assign");
    EXPECT_EQ(nodes[i].phase, Phase::kBackward);
  }
  EXPECT_EQ(g.graph.slot(nodes.back().slot).name, "mean");
}

TEST(Autodiff, NoGradientFlowsThroughIntegers) {
  Gradients g = gradients_of(R"(
    slot "table" f32[9, 4] parameter constant(0.0)
    slot "w" f32[2, 4, 8, 8] parameter constant(0.0)
    input %0 "tokens" i64[3]
    %1: f32[9, 4] = read "table"
    %2: f32[3, 4] = embedding(%1, %0) {padding_idx=-1}
    %3: f32[] = sum(%2) {dims=[0, 1], keep_dims=false}
    %4: f32[2, 4, 8, 8] = read "w"
    %5: f32[2, 4, 4, 4], %6: i64[2, 4, 4, 4] = \
      max_pool2d(%4) {kernel=[2, 2], stride=[2, 2], padding=[0, 0]}
    %7: f32[] = sum(%5) {dims=[0, 1, 2, 3], keep_dims=false}
    %8: f32[] = add(%3, %7)
    output "loss" %8
    output "places" %6
  )");
  EXPECT_EQ(producer(g, "table").op->name, "embedding_backward");
  EXPECT_EQ(producer(g, "w").op->name, "max_pool2d_backward");
}

TEST(Autodiff, BackwardNodesBelongToTheLayerOfTheirForwardNode) {
  Gradients g = gradients_of(R"(
    slot "w" f32[3] parameter constant(1.0)
    %0: f32[3] = read "w" @"a" segment=1
    %1: f32[3] = tanh(%0) @"b" segment=2
    %2: f32[] = sum(%1) {dims=[0], keep_dims=false} @"c" segment=3
    output "loss" %2
  )");
  const Node& tanh = node_of(g.graph, "tanh_backward");
  EXPECT_EQ(tanh.path, "b");
  EXPECT_EQ(tanh.segment, 2);
  EXPECT_EQ(tanh.phase, Phase::kBackward);
  EXPECT_EQ(node_of(g.graph, "full").path, "c");
  EXPECT_EQ(node_of(g.graph, "full").segment, 3);
}

TEST(Autodiff, DropoutBackwardDrawsTheSameMask) {
  Gradients g = gradients_of(R"(
    slot "w" f32[3] parameter constant(1.0)
    slot "p" f64[] hyper constant(0.5)
    slot "n" i64[] counter constant(0.0)
    input %0 "/micro" i64[]
    %1: f32[3] = read "w"
    %2: f64[] = read "p"
    %3: i64[] = read "n"
    %4: f32[3] = dropout(%1, %2, %3, %3, %0) rng=0x77
    %5: f32[] = sum(%4) {dims=[0], keep_dims=false}
    output "loss" %5
  )");
  const Node& backward = node_of(g.graph, "dropout", 1);
  EXPECT_EQ(backward.rng_key, 0x77u);
  EXPECT_EQ(backward.phase, Phase::kBackward);
  EXPECT_EQ(std::vector(backward.inputs.begin() + 1, backward.inputs.end()),
            std::vector(node_of(g.graph, "dropout").inputs.begin() + 1,
                        node_of(g.graph, "dropout").inputs.end()));
}

TEST(Autodiff, OnlyWhatGradientsNeedStays) {
  Gradients g = gradients_of(R"(
    slot "w" f32[4, 4] parameter constant(1.0)
    input %0 "x" f32[2, 4]
    %1: f32[4, 4] = read "w"
    %2: f32[2, 4] = linear(%0, %1, _)
    %3: f32[] = sum(%2) {dims=[0, 1], keep_dims=false}
    %4: f32[2, 4] = exp(%0)
    output "loss" %3
  )");
  EXPECT_EQ(count_op(g.graph, "exp"), 0);
  EXPECT_EQ(count_op(g.graph, "matmul"), 1);  // dw, not dx
}

const char* kLogits = R"(
  slot "w" f32[2, 3] parameter constant(1.0)
  input %0 "y" i64[2]
  %1: f32[2, 3] = read "w"
  %2: f32[], %3: f32[2], %4: f32[] = \
    cross_entropy_loss(%1, %0) {label_smoothing=0.0}
)";

TEST(Autodiff, AGradientOfASecondOutputIsRefusedNotForgotten) {
  std::string second = R"(
    %5: f32[] = sum(%3) {dims=[0], keep_dims=false}
  )";
  EXPECT_EQ(problem_of(kLogits + std::string("output \"loss\" %2")), "");
  EXPECT_NE(problem_of(kLogits + second + "output \"loss\" %5")
                .find("only the first output of 'cross_entropy_loss'"),
            std::string::npos);
  EXPECT_NE(problem_of(kLogits + second +
                       "%6: f32[] = add(%2, %5)\noutput \"loss\" %6")
                .find("only the first output of 'cross_entropy_loss'"),
            std::string::npos);
}

TEST(Autodiff, AnOpWithoutGradientIsRefusedOnTheWayToTheLossAlone) {
  std::string graph = R"(
    slot "w" f32[3] parameter constant(1.0)
    %0: f32[3] = read "w"
    %1: f32[3] = tanh_backward(%0, %0)
    %2: f32[] = sum(%0) {dims=[0], keep_dims=false}
    %3: f32[] = sum(%1) {dims=[0], keep_dims=false}
  )";
  EXPECT_EQ(problem_of(graph + "output \"loss\" %2\noutput \"y\" %3"), "");
  EXPECT_NE(problem_of(graph + "output \"loss\" %3")
                .find("'tanh_backward' has no gradient"),
            std::string::npos);
}

TEST(Autodiff, RefusesALossThatIsNone) {
  EXPECT_NE(problem_of("input %0 \"x\" f32[]\noutput \"y\" %0")
                .find("no output 'loss'"),
            std::string::npos);
  EXPECT_NE(problem_of(kLogits + std::string("output \"loss\" %0"))
                .find("is no float"),
            std::string::npos);
  EXPECT_NE(problem_of("input %0 \"x\" f32[]\noutput \"loss\" %0")
                .find("'loss' is an input"),
            std::string::npos);
}

TEST(Autodiff, AParameterMayBeTheLoss) {
  Gradients g = gradients_of(R"(
    slot "w" f32[] parameter constant(1.0)
    %0: f32[] = read "w"
    output "loss" %0
  )");
  EXPECT_EQ(producer(g, "w").op->name, "full");
}

}  // namespace
}  // namespace braid::passes
