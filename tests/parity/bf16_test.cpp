// Rows of the table in bfloat16: masters in f32, operands cast to bf16, the
// precision pass on. The reference is libtorch's autograd on bf16 operands.
#include <gtest/gtest.h>

#include "braid/ops/build/functions.h"
#include "braid/ops/core/precision_rows.h"
#include "braid/passes/rewrite/precision.h"
#include "braid/runtime/cpu_backend.h"
#include "braid/runtime/kernels/cuda_backend.h"
#include "kernels.h"
#include "row_checks.h"

namespace braid::parity {
namespace {

constexpr DType kF32 = DType::kFloat32;
constexpr DType kBF16 = DType::kBFloat16;
constexpr double kUlp = 1.0 / 128;  // of bf16, relative

// The row between casts: float operands become bf16, a float result f32.
Row narrowed(const Row& row) {
  Row narrow = row;
  narrow.build = [row](const std::vector<Var>& inputs) {
    std::vector<Var> vars = inputs;
    for (Var& x : vars) {
      if (x && x.dtype() == kF32) x = cast(x, kBF16);
    }
    Var y = row.build ? row.build(vars) : apply(row.op, vars, row.attrs);
    return is_floating(y.dtype()) ? cast(y, kF32) : y;
  };
  narrow.reference = [row](const Tensors& inputs) {
    Tensors tensors = inputs;
    for (at::Tensor& x : tensors) {
      if (x.defined() && x.is_floating_point()) x = x.to(at::kBFloat16);
    }
    at::Tensor y = row.reference(tensors);
    return y.is_floating_point() ? y.to(at::kFloat) : y;
  };
  return narrow;
}

// Rounding adds up over the steps of a recurrence.
double limit_of(const Row& row) {
  bool recurs = row.op == "lstm_cell" || row.op == "gru_cell";
  return (recurs ? 8 : 4) * kUlp;
}

class Bf16Parity : public testing::TestWithParam<Row> {};

TEST_P(Bf16Parity, EqualsLibtorchAloneAndInAnArray) {
  runtime::CpuBackend backend(kernels(), {});
  Row row = narrowed(GetParam());
  expect_parity(row, kF32, kBF16, backend, limit_of(row));
}

// Products have kernels of their own on CUDA.
TEST(Bf16OnGpu, ProductsEqualLibtorchAloneAndInAnArray) {
  if (!runtime::has_cuda()) GTEST_SKIP() << "no CUDA device here";
  auto gpu = runtime::make_cuda_backend(kernels(), {});
  for (const Row& row : all_rows()) {
    if (row.op != "linear" && row.op != "matmul") continue;
    // What rounds to one side of 0 or the other has a gradient or none there.
    if (row.note.starts_with("relu special")) continue;
    SCOPED_TRACE(row.op + " " + row.note);
    Row narrow = narrowed(row);
    expect_parity(narrow, kF32, kBF16, *gpu, limit_of(narrow));
  }
}

// Ops that the pass gives f32 are tested in f32, and what has no float
// operand has nothing to round.
bool is_narrow(const Row& row) {
  auto is_float = [](const Arg& arg) {
    return arg.kind != Arg::Kind::kIndex && arg.kind != Arg::Kind::kBool &&
           arg.kind != Arg::Kind::kMissing;
  };
  return precision_of(row.op) != Precision::kFull &&
         std::any_of(row.args.begin(), row.args.end(), is_float);
}

// At most this many rows of an op, spread evenly: types are at stake here,
// arguments are tested in f32 and f64.
constexpr size_t kRowsOfOp = 24;

std::vector<Row> narrow_rows() {
  std::map<std::string, std::vector<Row>> by_op;
  for (const Row& row : all_rows()) {
    if (is_narrow(row)) by_op[row.op].push_back(row);
  }
  std::vector<Row> rows;
  for (const auto& [op, all] : by_op) {
    size_t count = std::min(all.size(), kRowsOfOp);
    for (size_t i = 0; i < count; ++i) {
      rows.push_back(all[i * all.size() / count]);
    }
  }
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Rows, Bf16Parity, testing::ValuesIn(narrow_rows()),
                         row_name);

// What the pass sends to bf16 must have rows.
TEST(Bf16Table, CoversEveryOpThatIsNarrow) {
  std::set<std::string> covered;
  for (const Row& row : narrow_rows()) covered.insert(row.op);
  for (const PrecisionRow& row : precision_rows()) {
    if (row.precision == Precision::kFull) continue;
    EXPECT_TRUE(covered.contains(std::string(row.op))) << row.op;
  }
}

}  // namespace
}  // namespace braid::parity
