#include <gtest/gtest.h>

#include "braid/base/error.h"
#include "braid/ops/core/op.h"
#include "braid/runtime/cpu_backend.h"
#include "kernels.h"
#include "row_checks.h"

namespace braid::parity {

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (auto family :
       {pointwise_rows, shape_rows,   reduce_rows,         matmul_rows,
        einsum_rows,    conv_rows,    pool_rows,           norm_rows,
        attention_rows, loss_rows,    pointwise_loss_rows, activation_rows,
        math_rows,      compare_rows, softmax_rows,        sort_rows,
        index_rows,     pad_rows,     arrange_rows,        factory_rows,
        upsample_rows,  rnn_rows,     foreign_rows,        grouped_rows}) {
    std::vector<Row> more = family();
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

namespace {

double tolerance(DType dtype) {
  return dtype == DType::kFloat64 ? 1e-10 : 1e-5;
}

class Parity : public testing::TestWithParam<std::tuple<Row, DType>> {
 protected:
  const Row& row() const { return std::get<0>(GetParam()); }
  DType dtype() const { return std::get<1>(GetParam()); }
};

TEST_P(Parity, EqualsLibtorchAloneAndInAnArray) {
  runtime::CpuBackend backend(kernels(), {});
  expect_parity(row(), dtype(), DType::kFloat32, backend, tolerance(dtype()));
}

std::string row_name(
    const testing::TestParamInfo<std::tuple<Row, DType>>& info) {
  const Row& row = std::get<0>(info.param);
  return test_name(row.op + "_" + row.note + "_" +
                   std::string(dtype_name(std::get<1>(info.param))) + "_" +
                   std::to_string(info.index));
}

INSTANTIATE_TEST_SUITE_P(Rows, Parity,
                         testing::Combine(testing::ValuesIn(all_rows()),
                                          testing::Values(DType::kFloat64,
                                                          DType::kFloat32)),
                         row_name);

// Every op that models consist of must have rows; a new one without fails.
TEST(ParityTable, CoversEveryOpOfModels) {
  OpTable ops = standard_ops();
  // What reshape becomes, and the gradient of digamma.
  std::set<std::string> covered{"view", "trigamma"};
  for (const Row& row : all_rows()) covered.merge(ops_of(ops, row));
  covered.insert("dropout");  // random: tests of its own
  // Its gradient is not that of its result: tests of its own.
  covered.insert("scale_gradient");
  for (const auto& [name, op] : ops.all()) {
    if (!op.array) continue;  // made by passes
    EXPECT_TRUE(covered.contains(name)) << name;
  }
}

}  // namespace
}  // namespace braid::parity
