// Counters, which are integers, among the ops that are loops of fusions.
#include <gtest/gtest.h>

#include "braid/runtime/kernels/kernel.h"
#include "runtime/kernels/op_named.h"

namespace braid::runtime {
namespace {

std::vector<int64_t> add_to(std::vector<int64_t> x, const Attr& value,
                            const Strides& strides) {
  std::vector<int64_t> y(3, -1);
  Node node;
  node.op = op_named("add_scalar");
  node.attrs.set("value", value);
  Workspace workspace;
  Tensor from{
      reinterpret_cast<std::byte*>(x.data()), DType::kInt64, {3}, strides};
  Tensor to{reinterpret_cast<std::byte*>(y.data()), DType::kInt64, {3}, {1}};
  cpu_kernels().prepare({.node = &node,
                         .inputs = {from},
                         .outputs = {to},
                         .workspace = &workspace})();
  return y;
}

TEST(PointwiseTest, CountersGoOn) {
  const int64_t large = int64_t{1} << 60;
  using Numbers = std::vector<int64_t>;
  EXPECT_EQ(add_to({0, 5, large}, int64_t{1}, {1}), (Numbers{1, 6, large + 1}));
  EXPECT_EQ(add_to({0, 5, 7, 9, 11}, int64_t{-2}, {2}), (Numbers{-2, 5, 9}));
  EXPECT_EQ(add_to({0, 5, 7}, true, {1}), (Numbers{1, 6, 8}));
}

}  // namespace
}  // namespace braid::runtime
