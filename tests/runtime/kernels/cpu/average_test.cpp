// Averages of whole planes and their gradients.
#include <gtest/gtest.h>

#include <numeric>

#include "braid/runtime/kernels/kernel.h"
#include "runtime/kernels/op_named.h"

namespace braid::runtime {
namespace {

Tensor tensor_of(std::vector<double>& x, const Shape& shape) {
  return {reinterpret_cast<std::byte*>(x.data()), DType::kFloat64, shape,
          contiguous_strides(shape)};
}

std::vector<double> run(const std::string& op, std::vector<double> x,
                        const Shape& from, const Shape& to) {
  std::vector<double> y(static_cast<size_t>(num_elements(to)));
  Node node;
  node.op = op_named(op);
  node.attrs.set("size", Ints{to.end() - 2, to.end()});
  node.attrs.set("shape", Ints{to.begin(), to.end()});
  Workspace workspace;
  Call call{.node = &node,
            .inputs = {tensor_of(x, from)},
            .outputs = {tensor_of(y, to)},
            .workspace = &workspace};
  cpu_kernels().prepare(call)();
  return y;
}

std::vector<double> counted(int64_t count) {
  std::vector<double> x(static_cast<size_t>(count));
  std::iota(x.begin(), x.end(), 1.0);
  return x;
}

// Planes of 1 to 35 elements: whole lanes, parts of them, and none.
TEST(AverageTest, EveryPlaneHasItsOwnMean) {
  for (int64_t width : {1, 2, 3, 7}) {
    int64_t size = 5 * width;
    std::vector<double> y = run("adaptive_avg_pool2d", counted(6 * size),
                                {2, 3, 5, width}, {2, 3, 1, 1});
    for (size_t p = 0; p < y.size(); ++p) {
      auto first = static_cast<double>(p) * static_cast<double>(size) + 1;
      EXPECT_DOUBLE_EQ(y[p], first + static_cast<double>(size - 1) / 2);
    }
  }
}

TEST(AverageTest, TheGradientIsSharedOut) {
  std::vector<double> dx =
      run("adaptive_avg_pool2d_backward", {4, 8}, {1, 2, 1, 1}, {1, 2, 2, 2});
  EXPECT_EQ(dx, (std::vector<double>{1, 1, 1, 1, 2, 2, 2, 2}));
}

TEST(AverageTest, OtherSizesAreWindows) {
  std::vector<double> y =
      run("adaptive_avg_pool2d", counted(8), {1, 1, 2, 4}, {1, 1, 1, 2});
  EXPECT_EQ(y, (std::vector<double>{3.5, 5.5}));
}

}  // namespace
}  // namespace braid::runtime
