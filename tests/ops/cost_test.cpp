// Arithmetic and traffic of ops against counts made by hand.
#include <gtest/gtest.h>

#include "one_node.h"

namespace braid {
namespace {

Cost cost_of(const std::string& op, const InputTypes& types,
             const Attrs& attrs = {}) {
  Graph graph = one_node(op, types, attrs);
  return table().cost(graph, graph.node(0));
}

Attrs conv_attrs(int64_t groups) {
  return {{"stride", Ints{1, 1}},
          {"padding", Ints{1, 1}},
          {"dilation", Ints{1, 1}},
          {"groups", groups}};
}

TEST(CostTest, MatrixProducts) {
  Cost cost = cost_of("matmul", {f32({4, 5}), f32({5, 3})});
  EXPECT_EQ(cost.flops, 2 * 4 * 5 * 3);
  EXPECT_EQ(cost.bytes, 4 * (4 * 5 + 5 * 3 + 4 * 3));
  cost = cost_of("matmul", {f64({7, 4, 5}), f64({5, 3})});
  EXPECT_EQ(cost.flops, 2 * 7 * 4 * 5 * 3);
  EXPECT_EQ(cost.bytes, 8 * (7 * 4 * 5 + 5 * 3 + 7 * 4 * 3));
  EXPECT_EQ(cost_of("linear", {f32({8, 6, 5}), f32({3, 5}), f32({3})}).flops,
            2 * 8 * 6 * 5 * 3);
  EXPECT_EQ(cost_of("linear", {f32({2, 6, 5}), f32({2, 3, 5})},
                    {{"members", int64_t{2}}})
                .flops,
            2 * 2 * 6 * 5 * 3);
}

// Where groups end is not known before the step: all rows count.
TEST(CostTest, GroupedProducts) {
  ValueType offsets{DType::kInt32, {3}};
  EXPECT_EQ(cost_of("grouped_mm", {f32({8, 5}), f32({3, 5, 4}), offsets}).flops,
            2 * 8 * 5 * 4);
  EXPECT_EQ(
      cost_of("grouped_mm_contract", {f32({5, 8}), f32({8, 4}), offsets}).flops,
      2 * 8 * 5 * 4);
  offsets.shape = {2, 3};
  EXPECT_EQ(
      cost_of("grouped_mm_contract", {f32({2, 5, 8}), f32({2, 8, 4}), offsets},
              {{"members", int64_t{2}}})
          .flops,
      2 * 2 * 8 * 5 * 4);
}

TEST(CostTest, Convolutions) {
  ValueType x = f32({2, 4, 8, 9}), w = f32({6, 4, 3, 3});
  ValueType y = f32({2, 6, 8, 9}), grouped = f32({6, 2, 3, 3});
  double products = 2.0 * (2 * 6 * 8 * 9) * (4 * 3 * 3);
  EXPECT_EQ(cost_of("conv2d", {x, w}, conv_attrs(1)).flops, products);
  EXPECT_EQ(cost_of("conv2d", {x, grouped}, conv_attrs(2)).flops, products / 2);
  Attrs of_input = conv_attrs(1), of_weight = conv_attrs(1);
  of_input.set("shape", x.shape);
  of_weight.set("shape", w.shape);
  EXPECT_EQ(cost_of("conv2d_backward_input", {y, w}, of_input).flops, products);
  EXPECT_EQ(cost_of("conv2d_backward_weight", {y, x}, of_weight).flops,
            products);
}

// N 2, H 3, T 4 queries, S 6 keys, D 5 and E 7 columns.
TEST(CostTest, AttentionCountsEveryProduct) {
  ValueType q = f32({2, 3, 4, 5}), k = f32({2, 3, 6, 5}), v = f32({2, 3, 6, 7});
  ValueType y = f32({2, 3, 4, 7}), lse = f32({2, 3, 4});
  double pairs = 2.0 * 2 * 3 * 4 * 6;
  EXPECT_EQ(cost_of("scaled_dot_product_attention", {q, k, v}).flops,
            pairs * (5 + 7));
  // q k^T, ds k and ds^T q over D; dy v^T and p^T dy over E.
  EXPECT_EQ(
      cost_of("scaled_dot_product_attention_backward", {y, q, k, v, y, lse})
          .flops,
      pairs * (3 * 5 + 2 * 7));
}

TEST(CostTest, OthersCountBytesAndElements) {
  Cost cost = cost_of("add", {f32({4, 3}), f32({3})});
  EXPECT_EQ(cost.flops, 12);
  EXPECT_EQ(cost.bytes, 4 * (12 + 3 + 12));
  cost =
      cost_of("sum", {f32({4, 3})}, {{"dims", Ints{0}}, {"keep_dims", false}});
  EXPECT_EQ(cost.flops, 12);
  EXPECT_EQ(cost.bytes, 4 * (12 + 3));
}

TEST(CostTest, ViewsCostNothing) {
  Cost cost = cost_of("permute", {f32({4, 3})}, {{"dims", Ints{1, 0}}});
  EXPECT_EQ(cost.flops, 0);
  EXPECT_EQ(cost.bytes, 0);
}

}  // namespace
}  // namespace braid
