#include "braid/ops/core/lowering.h"

#include <gtest/gtest.h>

#include <set>

#include "braid/ops/build/functions.h"

namespace braid {
namespace {

// N images of C channels and a side; O outputs, a kernel of K x K.
struct Sizes {
  int64_t n, c, o, side, k;
  Conv options = {};
};

class Lowerings : public testing::Test {
 protected:
  Lowering fastest(const Sizes& s, int64_t members) const {
    Graph graph(ops_);
    Var x = input(graph, "x", {DType::kFloat32, {s.n, s.c, s.side, s.side}});
    Shape shape{s.o, s.c / s.options.groups, s.k, s.k};
    Var w = input(graph, "w", {DType::kFloat32, shape});
    conv2d(x, w, {}, s.options);
    NodeView one(graph, graph.nodes().back());
    Lowering best = Lowering::kGrouped;
    for (Lowering other : lowerings_of(one)) {
      if (lowering_seconds(one, members, other, 2) <
          lowering_seconds(one, members, best, 2)) {
        best = other;
      }
    }
    return best;
  }

  OpTable ops_ = standard_ops();
};

// As measured on two cores.
TEST_F(Lowerings, OfFewChannelsHaveThemLast) {
  for (int64_t members : {8, 32}) {
    EXPECT_EQ(fastest({64, 1, 6, 28, 5}, members), Lowering::kGroupedLast);
    EXPECT_EQ(fastest({64, 6, 16, 12, 5}, members), Lowering::kGroupedLast);
  }
}

TEST_F(Lowerings, OfManyChannelsAreOnTheirOwn) {
  EXPECT_EQ(fastest({32, 64, 64, 16, 3, {.padding = {1}}}, 32),
            Lowering::kMember);
  EXPECT_EQ(fastest({32, 256, 256, 4, 3, {.padding = {1}}}, 8),
            Lowering::kMember);
}

TEST_F(Lowerings, OfOneElementAreProducts) {
  EXPECT_EQ(fastest({32, 64, 64, 8, 1}, 8), Lowering::kGemm);
  EXPECT_EQ(fastest({32, 96, 24, 16, 1}, 32), Lowering::kGemm);
}

TEST_F(Lowerings, OfSingleChannelsStayTogether) {
  EXPECT_EQ(fastest({32, 16, 16, 16, 3, {.groups = 16}}, 16),
            Lowering::kGrouped);
}

// Strides, padding and groups make another convolution.
TEST_F(Lowerings, TextTellsConvolutionsApart) {
  Graph graph(ops_);
  Var x = input(graph, "x", {DType::kFloat32, {2, 4, 8, 8}});
  Var w = input(graph, "w", {DType::kFloat32, {4, 4, 3, 3}});
  std::set<std::string> texts;
  for (const Conv& options : {Conv{}, Conv{.stride = {2}}, Conv{.padding = {1}},
                              Conv{.dilation = {2}}}) {
    conv2d(x, w, {}, options);
    texts.insert(convolution_text(NodeView(graph, graph.nodes().back())));
  }
  EXPECT_EQ(texts.size(), 4u);
}

}  // namespace
}  // namespace braid
