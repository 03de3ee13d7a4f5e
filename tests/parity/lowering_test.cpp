// Every lowering of every convolution gives the members' solo results, for
// several sizes of the array.
#include <gtest/gtest.h>

#include "braid/runtime/cpu_backend.h"
#include "kernels.h"
#include "row_checks.h"
#include "rows/image.h"

namespace braid::parity {
namespace {

// In f32, gradients through a softmax are small differences.
double tolerance(const Row& row, DType dtype) {
  if (dtype == DType::kFloat64) return 1e-10;
  return row.note.find("softmax") == row.note.npos ? 1e-5 : 1e-4;
}

using Params = std::tuple<Row, Lowering, DType>;

class LoweringParity : public testing::TestWithParam<Params> {
 protected:
  const Row& row() const { return std::get<0>(GetParam()); }
  Lowering lowering() const { return std::get<1>(GetParam()); }
  DType dtype() const { return std::get<2>(GetParam()); }

  PreparedRow prepared(const std::vector<Tensors>& like, bool as_array) {
    return {row(),           like,      dtype(), backend_, as_array,
            DType::kFloat32, lowering()};
  }

  void expect_near(const Results& got, const Results& want) {
    for (const auto& [name, value] : want) {
      SCOPED_TRACE(name);
      ASSERT_EQ(got.at(name).sizes(), value.sizes());
      EXPECT_LE(difference(got.at(name), value), tolerance(row(), dtype()));
    }
  }

 private:
  runtime::CpuBackend backend_{kernels(), {}};
};

TEST_P(LoweringParity, MembersEqualSoloRuns) {
  std::vector<Tensors> inputs;
  for (int64_t m = 0; m < 5; ++m) {
    inputs.push_back(random_inputs(row(), dtype(), m));
  }
  PreparedRow alone = prepared({inputs[0]}, false);
  std::vector<Results> solo;
  for (const Tensors& one : inputs) solo.push_back(alone.run({one})[0]);
  for (size_t members : {1, 2, 3, 5}) {
    SCOPED_TRACE(members);
    std::vector<Tensors> some(inputs.begin(),
                              inputs.begin() + static_cast<int64_t>(members));
    std::vector<Results> got = prepared(some, true).run(some);
    for (size_t m = 0; m < members; ++m) expect_near(got[m], solo[m]);
  }
}

// Beside single convolutions, what follows them in models: the layers between
// have to do with either layout.
std::vector<Row> rows() {
  std::vector<Row> rows = conv_rows(), more = image_rows();
  rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

// Whether a row has a convolution that may be computed so.
bool fits(const Row& row, Lowering lowering) {
  bool product = row.note.find("one by one") != std::string::npos;
  if (lowering == Lowering::kGemm) return product;
  return lowering != Lowering::kGroupedLast || row.op.ends_with("2d");
}

std::vector<Params> cases() {
  std::vector<Params> all;
  for (const Row& row : rows()) {
    for (Lowering lowering : all_lowerings()) {
      if (!fits(row, lowering)) continue;
      all.emplace_back(row, lowering, DType::kFloat64);
      all.emplace_back(row, lowering, DType::kFloat32);
    }
  }
  return all;
}

std::string row_name(const testing::TestParamInfo<Params>& info) {
  const Row& row = std::get<0>(info.param);
  return test_name(fmt::format("{}_{}_{}_{}_{}", row.op, row.note,
                               lowering_name(std::get<1>(info.param)),
                               dtype_name(std::get<2>(info.param)),
                               info.index));
}

INSTANTIATE_TEST_SUITE_P(Rows, LoweringParity, testing::ValuesIn(cases()),
                         row_name);

}  // namespace
}  // namespace braid::parity
