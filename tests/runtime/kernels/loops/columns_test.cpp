// Sums and scales of columns: alike at every level, and near sums in float64.
#include "runtime/kernels/loops/levels.h"

namespace braid::runtime {
namespace {

template <class T>
class ColumnsTest : public testing::Test {};
TYPED_TEST_SUITE(ColumnsTest, FloatTypes);

template <class T>
void append(Numbers<T>& to, const std::vector<double>& from) {
  for (double v : from) to.push_back(static_cast<T>(v));
}

TYPED_TEST(ColumnsTest, LevelsAgree) {
  using T = TypeParam;
  for (int64_t rows : {1, 4, 7}) {
    for (int64_t columns : {1, 5, 16, 37}) {
      int64_t step = columns + 3;
      auto x = random_numbers<T>(rows * step, 1);
      auto dy = random_numbers<T>(rows * step, 2);
      auto mean = random_numbers<T>(columns, 3);
      expect_same<T>([&](const LoopsOf<T>& loops) {
        std::vector<double> sums(static_cast<size_t>(columns)), dots = sums;
        Numbers<T> y(x.size()), dx = dy;  // in place
        loops.column_sums(sums.data(), x.data(), rows, columns, step);
        append(y, sums);
        loops.column_squares(sums.data(), x.data(), mean.data(), rows, columns,
                             step);
        append(y, sums);
        loops.column_pairs(sums.data(), dots.data(), dy.data(), x.data(),
                           mean.data(), rows, columns, step);
        append(y, sums);
        append(y, dots);
        const T* any = mean.data();
        loops.scale_columns(y.data(), x.data(), any, any, rows, columns, step);
        loops.norm_columns_backward(dx.data(), dx.data(), x.data(),
                                    {any, any, any, any}, rows, columns, step);
        y.insert(y.end(), dx.begin(), dx.end());
        return y;
      });
    }
  }
}

TYPED_TEST(ColumnsTest, SumsAreThoseOfFloat64) {
  using T = TypeParam;
  constexpr int64_t kRows = 13, kColumns = 21;
  auto x = random_numbers<T>(kRows * kColumns, 1);
  auto mean = random_numbers<T>(kColumns, 3);
  std::vector<double> sums(kColumns), dots(kColumns), squares(kColumns);
  const LoopsOf<T> loops = all_loops().back().of<T>();
  loops.column_pairs(sums.data(), dots.data(), x.data(), x.data(), mean.data(),
                     kRows, kColumns, kColumns);
  loops.column_squares(squares.data(), x.data(), mean.data(), kRows, kColumns,
                       kColumns);
  for (size_t c = 0; c < kColumns; ++c) {
    double sum = 0, dot = 0, square = 0;
    for (size_t r = 0; r < kRows; ++r) {
      auto v = static_cast<double>(x[r * kColumns + c]);
      double apart = v - static_cast<double>(mean[c]);
      sum += v;
      dot += v * apart;
      square += apart * apart;
    }
    EXPECT_NEAR(sums[c], sum, 1e-5);
    EXPECT_NEAR(dots[c], dot, 1e-5);
    EXPECT_NEAR(squares[c], square, 1e-5);
  }
}

TYPED_TEST(ColumnsTest, DropsAgreeAndKeepFromTheGivenWord) {
  using T = TypeParam;
  Numbers<T> x{1, 2, 3, 4};
  std::vector<uint32_t> words{0, 4, 5, 0xFFFFFFFF};
  expect_same<T>([&](const LoopsOf<T>& loops) {
    Numbers<T> y = x;
    loops.drop(y.data(), y.data(), words.data(), 5, T(2), 4);
    EXPECT_EQ(y, (Numbers<T>{0, 0, 6, 8}));
    return y;
  });
}

}  // namespace
}  // namespace braid::runtime
