// Batch norm as sums and pointwise ops: what is split, and in which types.
#include "braid/passes/rewrite/split_norms.h"

#include <gtest/gtest.h>

#include "passes/text_graphs.h"

namespace braid::passes {
namespace {

using Names = std::vector<std::string>;

Graph split(const std::string& statements) {
  StepGraph step = split_norms(table(), {graph_of(statements), 1, {}});
  verify(step.graph);
  return std::move(step.graph);
}

constexpr const char* kInputs = R"(
    input %0 "w" f32[3]
    input %1 "b" f32[3]
    input %2 "m" f32[3]
    input %3 "v" f32[3]
)";

TEST(SplitNorms, NarrowInputIsCastInside) {
  Graph graph = split(std::string(kInputs) + R"(
    input %4 "x" bf16[4, 3, 5, 5]
    %5: bf16[4, 3, 5, 5], %6: f32[3], %7: f32[3], %8: f32[3], %9: f32[3] = \
        batch_norm(%4, %0, %1, %2, %3) {eps=1e-5, momentum=0.1, training=true}
    output "y" %5
    output "m" %8
  )");
  EXPECT_EQ(op_names(graph),
            (Names{"batch_norm_statistics", "reshape", "reshape", "to", "sub",
                   "mul", "reshape", "add", "to"}));
  EXPECT_EQ(type_of_output(graph, "y"),
            (ValueType{DType::kBFloat16, {4, 3, 5, 5}}));
  EXPECT_EQ(node_of(graph, "reshape").attrs.ints("shape"), (Ints{1, 3, 1, 1}));
}

TEST(SplitNorms, OfMembersNumbersLeadWithThem) {
  Graph graph = split(R"(
    input %0 "x" f32[2, 4, 3, 5]
    %1: f32[2, 4, 3, 5], %2: f32[2, 3], %3: f32[2, 3] = batch_norm(%0) \
        {eps=1e-5, members=2, momentum=0.1, training=true}
    output "y" %1
  )");
  EXPECT_EQ(op_names(graph), (Names{"batch_norm_statistics", "reshape",
                                    "reshape", "sub", "mul"}));
  EXPECT_EQ(node_of(graph, "reshape").attrs.ints("shape"), (Ints{2, 1, 3, 1}));
  EXPECT_EQ(node_of(graph, "batch_norm_statistics").attrs.integer("members"),
            2);
}

TEST(SplitNorms, TheGradientIsSplitToo) {
  Graph graph = split(R"(
    input %0 "dy" f32[4, 3, 5]
    input %1 "x" f32[4, 3, 5]
    input %2 "mean" f32[3]
    input %3 "rstd" f32[3]
    %4: f32[4, 3, 5], %5: f32[3], %6: f32[3] = \
        batch_norm_backward(%0, %1, _, %2, %3) {training=true}
    output "dx" %4
    output "dw" %5
  )");
  EXPECT_EQ(count_op(graph, "batch_norm_sums"), 1);
  EXPECT_EQ(count_op(graph, "batch_norm_backward"), 0);
  EXPECT_EQ(graph.value(graph.find_output("dw")).producer, 0);
}

TEST(SplitNorms, TheEvalFormStays) {
  Graph graph = split(std::string(kInputs) + R"(
    input %4 "x" f32[4, 3]
    %5: f32[4, 3], %6: f32[3], %7: f32[3] = batch_norm(%4, %0, %1, %2, %3) \
        {eps=1e-5, momentum=0.1, training=false}
    output "y" %5
  )");
  EXPECT_EQ(op_names(graph), Names{"batch_norm"});
}

}  // namespace
}  // namespace braid::passes
