#include "braid/runtime/foreign_ops.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "thrown.h"

namespace braid::runtime {
namespace {

using Types = std::vector<ValueType>;

Types infer(const std::string& target, const std::string& args,
            const Types& inputs) {
  return torch_foreign_ops()->infer(target, parse_foreign_args(args), inputs);
}

const Types kMatrix{{DType::kFloat32, {3, 4}}};

struct Refused {
  const char *target, *args, *words;
};

void expect_refused(const std::vector<Refused>& cases) {
  for (const Refused& c : cases) {
    std::string problem = thrown_by([&] { infer(c.target, c.args, kMatrix); });
    EXPECT_NE(problem.find(c.words), std::string::npos)
        << c.target << ": " << problem;
  }
}

TEST(TorchForeignOps, KnowsTheTypesOfResults) {
  EXPECT_EQ(infer("aten::sinc", "$0", kMatrix), kMatrix);
  EXPECT_EQ(infer("aten::cummax", "$0, 1", kMatrix),
            (Types{{DType::kFloat32, {3, 4}}, {DType::kInt64, {3, 4}}}));
  EXPECT_EQ(infer("aten::unsafe_split.Tensor", "$0, 2", kMatrix),
            (Types{{DType::kFloat32, {2, 4}}, {DType::kFloat32, {1, 4}}}));
}

// These have no form without memory.
TEST(TorchForeignOps, KnowsTypesOfOperatorsThatMustBeRun) {
  EXPECT_EQ(infer("aten::fft_rfft", "$0", kMatrix),
            (Types{{DType::kComplex64, {3, 3}}}));
  Types square{{DType::kFloat64, {5, 5}}};
  EXPECT_EQ(infer("aten::linalg_inv", "$0", square), square);
  EXPECT_EQ(infer("aten::linalg_cholesky", "$0", square), square);
}

TEST(TorchForeignOps, RefusesWhatItMayNotRun) {
  expect_refused({
      {"aten::bernoulli", "$0", "is random"},
      {"aten::dropout", "$0, 0.5, true", "is random"},
      {"aten::rrelu", "$0, training=true", "random"},
      {"aten::nonzero", "$0", "depends on data"},
      {"aten::unique_consecutive", "$0", "depends on data"},
      {"aten::masked_select", "$0, $0", "depends on data"},
      {"aten::relu_", "$0", "writes to"},
      {"aten::add.out", "$0, $0, out=$0", "writes to"},
      {"aten::transpose.int", "$0, 0, 1", "aliases"},
      {"aten::is_floating_point", "$0", "no tensor"},
  });
}

TEST(TorchForeignOps, RefusesArgumentsThatDoNotFit) {
  expect_refused({
      {"aten::no_such_op", "$0", "has no operator"},
      {"aten::sinc.no_such_overload", "$0", "has no operator"},
      {"sinc", "$0", "has no operator"},
      {"aten::sinc", "$0, 1", "takes no argument number 2"},
      {"aten::sinc", "$0, dim=1", "takes no argument 'dim'"},
      {"aten::cummax", "$0", "'dim' is missing"},
      {"aten::cummax", "$0, \"x\"", "'dim' does not fit"},
      {"aten::cummax", "$0, 7", "out of range"},
      {"aten::sinc", "3", "'self' does not fit"},
  });
}

}  // namespace
}  // namespace braid::runtime
