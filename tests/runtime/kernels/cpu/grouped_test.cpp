// Products of rows in groups: where groups end is data, and never trusted.
#include <gtest/gtest.h>

#include <numeric>

#include "braid/runtime/kernels/kernel.h"
#include "runtime/kernels/op_named.h"
#include "thrown.h"

namespace braid::runtime {
namespace {

template <class T>
Tensor tensor_of(std::vector<T>& x, DType dtype, const Shape& shape) {
  return {reinterpret_cast<std::byte*>(x.data()), dtype, shape,
          contiguous_strides(shape)};
}

// y[4, 1] = a[4, 1] * b[3, 1, 1], a = 1 2 3 4, b = 10 20 30.
template <class T>
std::vector<double> rows(std::vector<T> offsets, DType type) {
  std::vector<double> a{1, 2, 3, 4}, b{10, 20, 30}, y(4, -1);
  Node node;
  node.op = op_named("grouped_mm");
  Workspace workspace;
  Call call{.node = &node,
            .inputs = {tensor_of(a, DType::kFloat64, {4, 1}),
                       tensor_of(b, DType::kFloat64, {3, 1, 1}),
                       tensor_of(offsets, type, {3})},
            .outputs = {tensor_of(y, DType::kFloat64, {4, 1})},
            .workspace = &workspace};
  cpu_kernels().prepare(call)();
  return y;
}

std::vector<double> rows(std::vector<int32_t> offsets) {
  return rows(std::move(offsets), DType::kInt32);
}

TEST(GroupedProducts, EachRowMeetsTheMatrixOfItsGroup) {
  EXPECT_EQ(rows({1, 3, 4}), (std::vector<double>{10, 40, 60, 120}));
  EXPECT_EQ(rows({0, 4, 4}), (std::vector<double>{20, 40, 60, 80}));
  EXPECT_EQ(rows<int64_t>({2, 2, 4}, DType::kInt64),
            (std::vector<double>{10, 20, 90, 120}));
}

TEST(GroupedProducts, RowsOfNoGroupAreZero) {
  EXPECT_EQ(rows({1, 1, 2}), (std::vector<double>{10, 60, 0, 0}));
  EXPECT_EQ(rows({0, 0, 0}), (std::vector<double>{0, 0, 0, 0}));
}

TEST(GroupedProducts, RefusesOffsetsThatAreNone) {
  for (const std::vector<int32_t>& offsets :
       {std::vector<int32_t>{2, 1, 4}, {1, 2, 5}, {-1, 2, 4}}) {
    std::string problem = thrown_by([&] { rows(offsets); });
    EXPECT_NE(problem.find("ends at row"), std::string::npos) << problem;
  }
}

// bf16 goes through libtorch, and what it needs is measured on zeros.
TEST(GroupedProducts, ATrialIsOfAllRowsInOneGroup) {
  std::vector<int16_t> a(64 * 8), b(4 * 8 * 8), y(64 * 8);
  std::vector<int32_t> offsets(4);
  Node node;
  node.op = op_named("grouped_mm");
  Workspace workspace{.is_trial = true};
  Call call{.node = &node,
            .inputs = {tensor_of(a, DType::kBFloat16, {64, 8}),
                       tensor_of(b, DType::kBFloat16, {4, 8, 8}),
                       tensor_of(offsets, DType::kInt32, {4})},
            .outputs = {tensor_of(y, DType::kBFloat16, {64, 8})},
            .workspace = &workspace};
  std::fill(a.begin(), a.end(), int16_t{0x3f80});  // 1
  std::fill(b.begin(), b.begin() + 64, int16_t{0x3f80});
  cpu_kernels().prepare(call)();
  EXPECT_EQ(y[63 * 8], 0x4100);  // 8: the last row was multiplied
}

}  // namespace
}  // namespace braid::runtime
