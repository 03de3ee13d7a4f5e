// Chains save memory: no model's peak is higher with them.
#include <gtest/gtest.h>

#include "braid/passes/chains.h"
#include "braid/plan/compile.h"
#include "models/zoo_sizes.h"
#include "passes/model_steps.h"

namespace braid::plan {
namespace {

using Case = std::tuple<std::string, int64_t>;  // model, members

class ChainBytes : public testing::TestWithParam<Case> {};

TEST_P(ChainBytes, AreNoMoreThanThoseOfTheirParts) {
  auto [model, members] = GetParam();
  OpTable ops = standard_ops();
  Plan plan = keep_all(num_segments(ops, model));
  passes::StepGraph before = small_step(ops, model, {.members = members});
  passes::StepGraph after = passes::chains(ops, before);
  EXPECT_LE(compile(ops, after, plan).peak_bytes(),
            compile(ops, before, plan).peak_bytes());
  EXPECT_LE(after.graph.nodes().size(), before.graph.nodes().size());
}

std::string case_name(const testing::TestParamInfo<Case>& param) {
  auto [model, members] = param.param;
  return fmt::format("{}_{}", model_name(model), members);
}

INSTANTIATE_TEST_SUITE_P(Zoo, ChainBytes,
                         testing::Combine(testing::ValuesIn(zoo_models()),
                                          testing::Values(0, 1, 3)),
                         case_name);

}  // namespace
}  // namespace braid::plan
