// Loops of fusions: one for every op, alike at every level. What functions give
// is in math_test.cpp.
#include <string_view>

#include "braid/ops/core/fusion.h"
#include "levels.h"

namespace braid::runtime {
namespace {

TEST(FusionLoopsTest, EveryOpOfTheTableHasALoop) {
  const Loops loops = all_loops().back();
  for (const FusionOp& op : fusion_ops()) {
    EXPECT_TRUE(loops.f32.fusion_loop(op.name)) << op.name;
    EXPECT_TRUE(loops.f64.fusion_loop(op.name)) << op.name;
  }
  EXPECT_EQ(loops.f32.num_fusion, static_cast<int64_t>(fusion_ops().size()));
}

// Levels that can multiply and add at once do so in these.
bool has_functions(std::string_view op) {
  for (const char* part : {"exp", "tanh", "sigmoid", "silu", "gelu"}) {
    if (op.starts_with(part)) return !op.ends_with("h_backward");
  }
  return false;
}

template <class T>
void expect_levels_agree() {
  Numbers<T> x = random_numbers<T>(1003, 7);
  for (const FusionOp& op : fusion_ops()) {
    if (has_functions(op.name)) continue;
    SCOPED_TRACE(op.name);
    expect_same<T>([&](const LoopsOf<T>& loops) {
      Numbers<T> b = random_numbers<T>(1003, 8), y(x.size());
      loops.fusion_loop(op.name)(y.data(), x.data(), b.data(), x.data(), T(0.3),
                                 T(0.7), 1003);
      return y;
    });
  }
}

TEST(FusionLoopsTest, LevelsAgreeToTheBit) {
  expect_levels_agree<float>();
  expect_levels_agree<double>();
}

}  // namespace
}  // namespace braid::runtime
