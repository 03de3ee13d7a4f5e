#include "braid/runtime/foreign_ops.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace braid::runtime {
namespace {

using Types = std::vector<ValueType>;

Types infer(const std::string& target, const std::string& args,
            const Types& inputs) {
  return torch_foreign_ops()->infer(target, parse_foreign_args(args), inputs);
}

std::string problem_of(const std::string& target, const std::string& args,
                       const Types& inputs) {
  try {
    infer(target, args, inputs);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

const Types kMatrix{{DType::kFloat32, {3, 4}}};

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
  struct Case {
    const char *target, *args, *words;
  };
  for (const Case& c : {
           Case{"aten::bernoulli", "$0", "is random"},
           Case{"aten::dropout", "$0, 0.5, true", "is random"},
           Case{"aten::rrelu", "$0, training=true", "random"},
           Case{"aten::nonzero", "$0", "depends on data"},
           Case{"aten::unique_consecutive", "$0", "depends on data"},
           Case{"aten::masked_select", "$0, $0", "depends on data"},
           Case{"aten::relu_", "$0", "writes to"},
           Case{"aten::add.out", "$0, $0, out=$0", "writes to"},
           Case{"aten::transpose.int", "$0, 0, 1", "aliases"},
           Case{"aten::is_floating_point", "$0", "no tensor"},
       }) {
    std::string problem = problem_of(c.target, c.args, kMatrix);
    EXPECT_NE(problem.find(c.words), std::string::npos)
        << c.target << ": " << problem;
  }
}

TEST(TorchForeignOps, RefusesArgumentsThatDoNotFit) {
  struct Case {
    const char *target, *args, *words;
  };
  for (const Case& c : {
           Case{"aten::no_such_op", "$0", "has no operator"},
           Case{"aten::sinc.no_such_overload", "$0", "has no operator"},
           Case{"sinc", "$0", "has no operator"},
           Case{"aten::sinc", "$0, 1", "takes no argument number 2"},
           Case{"aten::sinc", "$0, dim=1", "takes no argument 'dim'"},
           Case{"aten::cummax", "$0", "'dim' is missing"},
           Case{"aten::cummax", "$0, \"x\"", "'dim' does not fit"},
           Case{"aten::cummax", "$0, 7", "out of range"},
           Case{"aten::sinc", "3", "'self' does not fit"},
       }) {
    std::string problem = problem_of(c.target, c.args, kMatrix);
    EXPECT_NE(problem.find(c.words), std::string::npos)
        << c.target << ": " << problem;
  }
}

}  // namespace
}  // namespace braid::runtime
