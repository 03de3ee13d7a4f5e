// The greatest numbers and their places: the first of equals; for windows the
// last NaN, along rows the first one, as libtorch has it.
#include <cmath>
#include <limits>

#include "runtime/kernels/loops/levels.h"

namespace braid::runtime {
namespace {

template <class T>
class MaxTest : public testing::Test {};
TYPED_TEST_SUITE(MaxTest, FloatTypes);

// Few different numbers, so that many are equal, and some NaN.
template <class T>
Numbers<T> equal_numbers(int64_t count, unsigned seed) {
  Numbers<T> x = random_numbers<T>(count, seed);
  for (T& v : x) {
    v = v > T(2) ? std::numeric_limits<T>::quiet_NaN() : std::round(v);
  }
  return x;
}

template <class T>
int64_t pooled_place(const Numbers<T>& x, int64_t first, int64_t width) {
  int64_t best = first;
  for (int64_t at : {first + 1, first + width, first + width + 1}) {
    T v = x[static_cast<size_t>(at)];
    if (v > x[static_cast<size_t>(best)] || std::isnan(v)) best = at;
  }
  return best;
}

TYPED_TEST(MaxTest, WindowsGiveTheirGreatestAndItsPlace) {
  using T = TypeParam;
  for (int64_t columns : {1, 2, 3, 14, 16, 37}) {
    for (int64_t extra : {0, 1}) {
      int64_t width = 2 * columns + extra, rows = 3;
      auto x = equal_numbers<T>(2 * rows * width, 1);
      for (const Loops& level : all_loops()) {
        Numbers<T> y(static_cast<size_t>(rows * columns));
        std::vector<int64_t> places(y.size());
        level.of<T>().pool_halves(y.data(), places.data(), x.data(), rows,
                                  columns, width);
        for (size_t i = 0; i < y.size(); ++i) {
          auto o = static_cast<int64_t>(i);
          int64_t first = o / columns * 2 * width + o % columns * 2;
          int64_t want = pooled_place(x, first, width);
          ASSERT_EQ(places[i], want) << level.level << " " << columns;
          T v = x[static_cast<size_t>(want)];
          EXPECT_TRUE(y[i] == v || (std::isnan(y[i]) && std::isnan(v)));
        }
      }
    }
  }
}

template <class T>
int64_t greatest_place(const Numbers<T>& x) {
  size_t best = 0;
  for (size_t i = 1; i < x.size() && !std::isnan(x[best]); ++i) {
    if (x[i] > x[best] || std::isnan(x[i])) best = i;
  }
  return static_cast<int64_t>(best);
}

TYPED_TEST(MaxTest, RowsGiveTheirGreatestAndItsFirstPlace) {
  using T = TypeParam;
  for (int64_t count : {1, 2, 31, 32, 33, 64, 100, 257}) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      auto x = equal_numbers<T>(count, seed);
      if (seed % 2 == 0) {
        for (T& v : x) v = std::isnan(v) ? T(2) : v;
      }
      for (const Loops& level : all_loops()) {
        T value = 0;
        int64_t place = -1;
        level.of<T>().row_max(&value, &place, x.data(), count);
        ASSERT_EQ(place, greatest_place(x)) << level.level << " " << count;
        T v = x[static_cast<size_t>(place)];
        EXPECT_TRUE(value == v || (std::isnan(value) && std::isnan(v)));
      }
    }
  }
}

}  // namespace
}  // namespace braid::runtime
