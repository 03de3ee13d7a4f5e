#include "braid/passes/rewrite/trainable.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "braid/ops/build/functions.h"
#include "passes/text_graphs.h"
#include "thrown.h"

namespace braid::passes {
namespace {

Graph norm_of(const Shape& shape, bool training) {
  Graph graph(table());
  Var x = input(graph, "x", {DType::kFloat32, shape});
  Var ones = full(x, {shape[1]}, 1, DType::kFloat32);
  graph.set_path("bn1");
  Normed y = batch_norm(x, {}, {}, ones, ones, {.training = training});
  graph.add_output("y", y.y.id);
  return graph;
}

std::string problem_of(const Graph& graph) {
  return thrown_by([&] { check_trainable(graph); });
}

TEST(Trainable, BatchNormNeedsMoreThanOneValuePerChannel) {
  EXPECT_EQ(problem_of(norm_of({1, 3}, true)),
            "[model] the batch norm 'bn1' needs more than one value per "
            "channel to train, got [1, 3]\nHINT: give batches more rows");
  EXPECT_NE(problem_of(norm_of({1, 3, 1, 1}, true)), "");
  EXPECT_EQ(problem_of(norm_of({2, 3}, true)), "");
  EXPECT_EQ(problem_of(norm_of({1, 3, 2}, true)), "");
  EXPECT_EQ(problem_of(norm_of({0, 3}, true)), "");
}

TEST(Trainable, TheEvalFormTakesSingleRows) {
  EXPECT_EQ(problem_of(norm_of({1, 3}, false)), "");
}

}  // namespace
}  // namespace braid::passes
