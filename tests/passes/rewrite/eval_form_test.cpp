#include "braid/passes/rewrite/eval_form.h"

#include <gtest/gtest.h>

#include "passes/text_graphs.h"

namespace braid::passes {
namespace {

Graph eval_of(const std::string& statements) {
  Graph graph = eval_form(table(), graph_of(statements));
  verify(graph);
  return graph;
}

// A draw with its rate, for text graphs: %3 to %6.
const std::string kDraw = R"(
  slot "hyper/drop.p" f64[] hyper constant(0.5)
  slot "counter/seed" i64[] counter constant(0.0)
  slot "counter/step" i64[] counter constant(0.0)
  input %0 "x" f32[2, 4]
  input %1 "/micro" i64[]
  %2: f32[2, 4] = relu(%0) @"fc"
  %3: f64[] = read "hyper/drop.p" @"drop"
  %4: i64[] = read "counter/seed" @"drop"
  %5: i64[] = read "counter/step" @"drop"
)";

TEST(EvalForm, DropoutLetsEverythingPass) {
  Graph graph = eval_of(kDraw + R"(
    %6: f32[2, 4] = dropout(%2, %3, %4, %5, %1) @"drop" rng=0x1
    %7: f32[2, 4] = neg(%6) @"out"
    output "y" %7
    output "dropped" %6
  )");
  EXPECT_EQ(op_names(graph), (std::vector<std::string>{"relu", "neg"}));
  const Node& relu = node_of(graph, "relu");
  EXPECT_EQ(node_of(graph, "neg").inputs[0], relu.outputs[0]);
  EXPECT_EQ(graph.find_output("dropped"), relu.outputs[0]);
  EXPECT_EQ(relu.path, "fc");
}

// Alpha dropout scales by its rate as well.
TEST(EvalForm, RatesThatAreReadElsewhereAreZero) {
  Graph graph = eval_of(kDraw + R"(
    %6: f64[] = neg(%3) @"drop"
    %7: f32[] = to(%6) {dtype="f32"} @"drop"
    %8: f32[2, 4] = mul(%2, %7) @"drop"
    output "y" %8
  )");
  const Node& zero = node_of(graph, "mul_scalar");
  EXPECT_EQ(zero.inputs[0], node_of(graph, "read").outputs[0]);
  EXPECT_EQ(node_of(graph, "neg").inputs[0], zero.outputs[0]);
}

const std::string kNorm = R"(
  slot "w" f32[3] parameter constant(1.0)
  slot "mean" f32[3] buffer constant(0.0)
  slot "var" f32[3] buffer constant(1.0)
  slot "tracked" i64[] buffer constant(0.0)
  input %0 "x" f32[5, 3]
  %1: f32[3] = read "w" @"bn"
  %2: f32[3] = read "mean" @"bn"
  %3: f32[3] = read "var" @"bn"
  %4: i64[] = read "tracked" @"bn"
  %5: i64[] = add_scalar(%4) {value=1} @"bn"
  assign "tracked" (%5) @"bn"
)";

TEST(EvalForm, BatchNormTakesRunningStatisticsAndSlotsStay) {
  Graph before = graph_of(kNorm + R"(
    %6: f32[5, 3], %7: f32[3], %8: f32[3], %9: f32[3], %10: f32[3] = \
      batch_norm(%0, %1, _, %2, %3) {eps=1e-3, momentum=0.1, training=true} \
      @"bn"
    assign "mean" (%9) @"bn"
    assign "var" (%10) @"bn"
    output "y" %6
  )");
  Graph graph = eval_form(table(), before);
  verify(graph);
  const Node& norm = node_of(graph, "batch_norm");
  EXPECT_FALSE(norm.attrs.flag("training"));
  EXPECT_EQ(norm.attrs.number("eps"), 1e-3);
  EXPECT_EQ(norm.path, "bn");
  EXPECT_EQ(count_op(graph, "assign"), 0);
  EXPECT_EQ(count_op(graph, "add_scalar"), 0);
  ASSERT_EQ(graph.slots().size(), before.slots().size());
  for (size_t i = 0; i < graph.slots().size(); ++i) {
    EXPECT_EQ(graph.slots()[i].name, before.slots()[i].name);
  }
}

TEST(EvalForm, ANormWithoutRunningStatisticsStays) {
  Graph graph = eval_of(R"(
    input %0 "x" f32[5, 3]
    %1: f32[5, 3], %2: f32[3], %3: f32[3] = \
      batch_norm(%0, _, _) {eps=1e-3, momentum=0.1, training=true}
    output "y" %1
  )");
  EXPECT_TRUE(node_of(graph, "batch_norm").attrs.flag("training"));
}

TEST(EvalForm, AResultMadeOfBatchStatisticsIsAnError) {
  try {
    eval_of(kNorm + R"(
      %6: f32[5, 3], %7: f32[3], %8: f32[3], %9: f32[3], %10: f32[3] = \
        batch_norm(%0, %1, _, %2, %3) {eps=1e-3, momentum=0.1, training=true}
      %11: f32[3] = neg(%9) @"odd"
      output "y" %11
    )");
    FAIL() << "has no statistics of a batch";
  } catch (const std::invalid_argument& error) {
    EXPECT_EQ(std::string(error.what()),
              "[eval form] output 'y' is made of statistics of a batch");
  }
}

// What is only written to slots need not be there.
TEST(EvalForm, StatisticsThatAreOnlyKeptAreNoError) {
  Graph graph = eval_of(kNorm + R"(
    %6: f32[5, 3], %7: f32[3], %8: f32[3], %9: f32[3], %10: f32[3] = \
      batch_norm(%0, %1, _, %2, %3) {eps=1e-3, momentum=0.1, training=true}
    %11: f32[3] = mul_scalar(%9) {value=0.5}
    assign "mean" (%11)
    output "y" %6
  )");
  EXPECT_EQ(count_op(graph, "mul_scalar"), 0);
}

TEST(EvalForm, AnOutputThatIsAStatisticIsAnError) {
  EXPECT_THROW(eval_of(kNorm + R"(
    %6: f32[5, 3], %7: f32[3], %8: f32[3], %9: f32[3], %10: f32[3] = \
      batch_norm(%0, %1, _, %2, %3) {eps=1e-3, momentum=0.1, training=true}
    output "y" %9
  )"),
               std::invalid_argument);
}

}  // namespace
}  // namespace braid::passes
