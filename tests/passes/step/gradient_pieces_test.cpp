#include "braid/passes/step/gradient_pieces.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "braid/passes/step/autodiff.h"
#include "passes/text_graphs.h"

namespace braid::passes {
namespace {

// The loss is made of parts of a parameter of 6 x 2.
Graph step_of(const std::string& parts) {
  Graph graph = differentiate(table(), graph_of(R"(
    slot "w" f32[6, 2] parameter constant(1.0)
    %0: f32[6, 2] = read "w"
  )" + parts))
                    .graph;
  verify(graph);
  return graph;
}

// The product of the sums of two parts.
Graph step_of_sums(const std::string& parts) {
  return step_of(parts + R"(
    %3: f32[] = sum(%1) {dims=[0, 1], keep_dims=false}
    %4: f32[] = sum(%2) {dims=[0, 1], keep_dims=false}
    %5: f32[] = mul(%3, %4)
    output "loss" %5
  )");
}

// The sum of the product of two parts of so many rows.
Graph step_of_product(int rows, const std::string& parts) {
  std::string product = fmt::format("%3: f32[{}, 2] = mul(%1, %2)", rows);
  return step_of(parts + product + R"(
    %4: f32[] = sum(%3) {dims=[0, 1], keep_dims=false}
    output "loss" %4
  )");
}

TEST(GradientPieces, OfAllPartsAreJoined) {
  Graph graph = step_of_sums(R"(
    %1: f32[4, 2] = slice(%0) {dim=0, start=2, end=9, step=1}
    %2: f32[2, 2] = slice(%0) {dim=0, start=0, end=2, step=1}
  )");
  EXPECT_EQ(count_op(graph, "slice_backward"), 0);
  const Node& cat = node_of(graph, "cat");
  ASSERT_EQ(cat.inputs.size(), 2);
  EXPECT_EQ(graph.value(cat.inputs[0]).type.shape, (Shape{2, 2}));
  EXPECT_EQ(graph.value(cat.outputs[0]).type.shape, (Shape{6, 2}));
}

TEST(GradientPieces, LeaveZerosWhereThereIsNoPart) {
  Graph graph = step_of_sums(R"(
    %1: f32[1, 2] = slice(%0) {dim=0, start=1, end=2, step=1}
    %2: f32[2, 2] = slice(%0) {dim=0, start=-3, end=-1, step=1}
  )");
  EXPECT_EQ(count_op(graph, "slice_backward"), 0);
  const Node& cat = node_of(graph, "cat");
  std::vector<int64_t> rows;
  for (ValueId id : cat.inputs) rows.push_back(graph.value(id).type.shape[0]);
  EXPECT_EQ(rows, (std::vector<int64_t>{1, 1, 1, 2, 1}));
}

TEST(GradientPieces, ThatOverlapAreAdded) {
  Graph graph = step_of_product(4, R"(
    %1: f32[4, 2] = slice(%0) {dim=0, start=0, end=4, step=1}
    %2: f32[4, 2] = slice(%0) {dim=0, start=2, end=6, step=1}
  )");
  EXPECT_EQ(count_op(graph, "slice_backward"), 2);
  EXPECT_EQ(count_op(graph, "cat"), 0);
}

TEST(GradientPieces, StandBesideTheGradientOfTheWhole) {
  Graph graph = step_of(R"(
    %1: f32[3, 2] = slice(%0) {dim=0, start=0, end=3, step=1}
    %2: f32[3, 2] = slice(%0) {dim=0, start=3, end=6, step=1}
    %3: f32[3, 2] = mul(%1, %2)
    %4: f32[] = sum(%3) {dims=[0, 1], keep_dims=false}
    %5: f32[6, 2] = exp(%0)
    %6: f32[] = sum(%5) {dims=[0, 1], keep_dims=false}
    %7: f32[] = add(%4, %6)
    output "loss" %7
  )");
  EXPECT_EQ(count_op(graph, "cat"), 1);
  EXPECT_EQ(count_op(graph, "slice_backward"), 0);
}

TEST(GradientPieces, OfEverySecondRowAreNoPieces) {
  Graph graph = step_of_product(3, R"(
    %1: f32[3, 2] = slice(%0) {dim=0, start=0, end=6, step=2}
    %2: f32[3, 2] = slice(%0) {dim=0, start=1, end=6, step=2}
  )");
  EXPECT_EQ(count_op(graph, "slice_backward"), 2);
}

}  // namespace
}  // namespace braid::passes
