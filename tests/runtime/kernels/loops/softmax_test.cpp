// Softmax of rows: alike at every level, and as the formula has it.
#include <cmath>
#include <limits>

#include "runtime/kernels/loops/levels.h"

namespace braid::runtime {
namespace {

template <class T>
class SoftmaxTest : public testing::Test {};
TYPED_TEST_SUITE(SoftmaxTest, FloatTypes);

TYPED_TEST(SoftmaxTest, LevelsAgreeAndSeenColumnsSumToOne) {
  using T = TypeParam;
  for (int64_t columns : {1, 5, 16, 37}) {
    auto x = random_numbers<T>(columns, 1), dy = random_numbers<T>(columns, 2);
    for (int64_t seen : {int64_t{1}, columns / 2 + 1, columns}) {
      expect_same<T>([&](const LoopsOf<T>& loops) {
        Numbers<T> y(x.size()), dx(x.size());
        loops.softmax_row(y.data(), x.data(), T(0.5), columns, seen);
        loops.softmax_row_backward(dx.data(), dy.data(), y.data(), columns);
        double total = 0;
        for (size_t i = 0; i < y.size(); ++i) {
          total += static_cast<double>(y[i]);
          if (static_cast<int64_t>(i) >= seen) {
            EXPECT_EQ(y[i], 0);
            continue;
          }
          double ratio = std::exp(0.5 * static_cast<double>(x[i] - x[0]));
          EXPECT_NEAR(y[i] / y[0], ratio, 1e-5 * ratio);
        }
        EXPECT_NEAR(total, 1, 1e-6);
        y.insert(y.end(), dx.begin(), dx.end());
        return y;
      });
    }
  }
}

TYPED_TEST(SoftmaxTest, RowsThatSeeNothingAreZeroAndNanStays) {
  using T = TypeParam;
  T lowest = -std::numeric_limits<T>::infinity();
  Numbers<T> y(3), x{lowest, lowest, lowest};
  for (const Loops& level : all_loops()) {
    const LoopsOf<T> loops = level.of<T>();
    loops.softmax_row(y.data(), x.data(), T(1), 3, 3);
    EXPECT_EQ(y, (Numbers<T>{0, 0, 0}));
    x[1] = std::numeric_limits<T>::quiet_NaN();
    loops.softmax_row(y.data(), x.data(), T(1), 3, 3);
    EXPECT_TRUE(std::isnan(y[1])) << level.level;
    x[1] = T(7);
    loops.softmax_row(y.data(), x.data(), T(1), 3, 3);
    EXPECT_EQ(y, (Numbers<T>{0, 1, 0}));
    x[1] = lowest;
  }
}

}  // namespace
}  // namespace braid::runtime
