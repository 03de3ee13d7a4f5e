// Every level that this machine has gives the bits of the plain one; products,
// which may fuse operations, are compared with sums in float64.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "braid/base/rng.h"
#include "braid/ops/core/update_kinds.h"
#include "runtime/kernels/loops/levels.h"

namespace braid::runtime {
namespace {

template <class T>
class LoopsTest : public testing::Test {};
TYPED_TEST_SUITE(LoopsTest, FloatTypes);

TEST(LoopsTest, PlainCodeComesFirst) {
  EXPECT_STREQ(all_loops()[0].level, "plain");
  std::set<std::string> names;
  for (const Loops& level : all_loops()) names.insert(level.level);
  EXPECT_EQ(names.size(), all_loops().size());
}

TEST(LoopsTest, RandomWordsAreThoseOfPhilox) {
  constexpr uint64_t kKey = 0x123456789ABCDEF0, kMoment = 0xFEDCBA987;
  for (uint64_t first : {uint64_t{0}, uint64_t{0xFFFFFFF8}}) {
    for (int64_t blocks : {0, 1, 15, 16, 37, 64, 150}) {
      for (const Loops& level : all_loops()) {
        std::vector<uint32_t> words(static_cast<size_t>(blocks) * 4 + 1, 77);
        level.random_words(words.data(), kKey, kMoment, first, blocks);
        for (size_t i = 0; i + 1 < words.size(); ++i) {
          EXPECT_EQ(words[i], philox(kKey, first + i / 4, kMoment).word[i % 4]);
        }
        EXPECT_EQ(words.back(), 77u) << level.level;
      }
    }
  }
}

TYPED_TEST(LoopsTest, PointwiseLevelsAgreeAndKeepNan) {
  using T = TypeParam;
  for (int64_t n : {0, 1, 7, 16, 33, 200}) {
    auto a = random_numbers<T>(n, 1), b = random_numbers<T>(n, 2);
    if (n > 6) a[6] = b[5] = std::numeric_limits<T>::quiet_NaN();
    for (const char* op : {"relu", "relu_backward", "add", "sub", "mul"}) {
      expect_same<T>([&](const LoopsOf<T>& loops) {
        Numbers<T> y = a;  // in place
        loops.fusion_loop(op)(y.data(), y.data(), b.data(), b.data(), 0, 0, n);
        EXPECT_TRUE(n <= 6 || std::isnan(y[6]));
        return y;
      });
    }
  }
}

TYPED_TEST(LoopsTest, SumsAgree) {
  using T = TypeParam;
  for (int64_t rows : {1, 4, 7}) {
    for (int64_t columns : {1, 5, 16, 37}) {
      int64_t step = columns + 3;
      auto x = random_numbers<T>(rows * step, 3);
      expect_same<T>([&](const LoopsOf<T>& loops) {
        Numbers<T> y(static_cast<size_t>(columns));
        loops.sum_rows(y.data(), x.data(), rows, columns, step);
        y.push_back(static_cast<T>(loops.sum(x.data(), rows * step)));
        y.push_back(static_cast<T>(loops.sum_squares(x.data(), rows * step)));
        return y;
      });
    }
  }
}

TYPED_TEST(LoopsTest, LayerNormsAgree) {
  using T = TypeParam;
  for (int64_t columns : {1, 6, 16, 45}) {
    constexpr int64_t kRows = 3;
    auto x = random_numbers<T>(kRows * columns, 4);
    auto dy = random_numbers<T>(kRows * columns, 5);
    auto w = random_numbers<T>(columns, 6), b = random_numbers<T>(columns, 7);
    for (int with : {0, 1, 2, 3}) {
      const T* weight = with & 1 ? w.data() : nullptr;
      expect_same<T>([&](const LoopsOf<T>& loops) {
        Numbers<T> y(x.size()), mean(kRows), rstd(kRows), dw = w, db = b;
        loops.layer_norm(y.data(), x.data(), weight,
                         with & 2 ? b.data() : nullptr, kRows, columns, 1e-5,
                         mean.data(), rstd.data());
        Numbers<T> dx = dy;  // in place
        loops.layer_norm_backward(dx.data(), dx.data(), x.data(), weight,
                                  mean.data(), rstd.data(), kRows, columns,
                                  dw.data(), db.data());
        for (const auto* part : {&mean, &rstd, &dx, &dw, &db}) {
          y.insert(y.end(), part->begin(), part->end());
        }
        return y;
      });
    }
  }
}

// log(sum(exp(row))) in long double.
template <class T>
long double exact_total(const T* x, int64_t columns) {
  long double top = x[0], sum = 0;
  for (int64_t c = 0; c < columns; ++c) {
    top = std::max(top, static_cast<long double>(x[c]));
  }
  for (int64_t c = 0; c < columns; ++c) {
    sum += std::exp(static_cast<long double>(x[c]) - top);
  }
  return top + std::log(sum);
}

TYPED_TEST(LoopsTest, LogSumExpIsExactAndLevelsAgree) {
  using T = TypeParam;
  for (int64_t columns : {1, 2, 4, 10, 31, 32, 33, 100}) {
    constexpr int64_t kRows = 19;
    auto x = random_numbers<T>(kRows * columns, 8);
    for (T& v : x) v *= 8;
    expect_same<T>([&](const LoopsOf<T>& loops) {
      Numbers<T> totals(kRows), y(x.size());
      loops.log_sum_exp(totals.data(), x.data(), kRows, columns);
      for (int64_t r = 0; r < kRows; ++r) {
        long double exact = exact_total(x.data() + r * columns, columns);
        EXPECT_NEAR(totals[static_cast<size_t>(r)], exact,
                    8 * std::numeric_limits<T>::epsilon() *
                        std::max(std::abs(exact), 1.0L));
      }
      loops.scaled_softmax(y.data(), x.data(), totals.data(), T(0.01), T(3),
                           kRows, columns);
      y.insert(y.end(), totals.begin(), totals.end());
      return y;
    });
  }
}

TYPED_TEST(LoopsTest, LogSumExpOfInfinitiesAndNan) {
  using T = TypeParam;
  T inf = std::numeric_limits<T>::infinity(), nan = std::nan("");
  const Numbers<T> rows[] = {{0, inf}, {nan, 0}, {0, nan}, {-inf, -inf}};
  for (const Loops& level : all_loops()) {
    T total = 0;
    for (const Numbers<T>& row : rows) {
      level.of<T>().log_sum_exp(&total, row.data(), 1, 2);
      EXPECT_TRUE(std::isnan(total)) << level.level;
    }
    level.of<T>().log_sum_exp(&total, Numbers<T>{-inf, 2}.data(), 1, 2);
    EXPECT_NEAR(total, 2, 1e-6) << level.level;
  }
}

TYPED_TEST(LoopsTest, EveryOptimizerAgrees) {
  using T = TypeParam;
  constexpr int64_t kCount = 53, kFrom = 3;
  const LoopsOf<T> plain = all_loops()[0].template of<T>();
  std::set<std::string> kinds;
  for (int64_t i = 0; i < plain.num_updates; ++i) {
    kinds.insert(plain.updates[i].kind);
    expect_same<T>([&](const LoopsOf<T>& loops) {
      auto all = random_numbers<T>(5 * kCount, 9);
      for (size_t k = 2 * kCount; k < all.size(); ++k)
        all[k] = std::abs(all[k]);
      T* at = all.data();
      UpdatePlaces<T> places{at, at, at + kCount};
      for (int k = 0; k < 3; ++k) {
        if (~plain.updates[i].has >> k & 1) continue;
        places.s[k] = at + (2 + k) * kCount;
        places.s_before[k] = places.s[k];
      }
      UpdateInputs in{{0.1, 0.9, 0.99, 1e-3, 0.01, 0.5, 0.1}};
      in.step = 12;
      const UpdateRow<T>& row = loops.updates[i];
      row.loop(row.make(in), T(0.5), places, kFrom, kCount);
      return all;
    });
  }
  std::set<std::string> expected;
  for (const UpdateKind& kind : update_kinds()) expected.insert(kind.name);
  EXPECT_EQ(kinds, expected);
}

struct Sizes {
  int64_t m, n, k;
};

template <class T>
void expect_product(const LoopsOf<T>& loops, Sizes s, bool a_turned,
                    bool b_turned, bool has_bias) {
  int64_t gap = 2;  // between rows, which need not lie side by side
  int64_t a_step = (a_turned ? s.m : s.k) + gap;
  int64_t b_step = (b_turned ? s.k : s.n) + gap;
  auto a = random_numbers<T>((a_turned ? s.k : s.m) * a_step, 10);
  auto b = random_numbers<T>((b_turned ? s.n : s.k) * b_step, 11);
  auto bias = random_numbers<T>(s.n, 12);
  Numbers<T> y(static_cast<size_t>(s.m * s.n + 1), T(77));
  SmallProduct<T> p{.y = y.data(),
                    .a = a.data(),
                    .b = b.data(),
                    .bias = has_bias ? bias.data() : nullptr,
                    .m = s.m,
                    .n = s.n,
                    .k = s.k,
                    .a_row = a_turned ? 1 : a_step,
                    .a_column = a_turned ? a_step : 1,
                    .b_row = b_turned ? 1 : b_step,
                    .b_column = b_turned ? b_step : 1};
  loops.product(p);
  for (int64_t i = 0; i < s.m * s.n; ++i) {
    int64_t row = i / s.n, column = i % s.n;
    long double sum = has_bias ? bias[static_cast<size_t>(column)] : 0;
    for (int64_t k = 0; k < s.k; ++k) {
      sum += static_cast<long double>(p.a[row * p.a_row + k * p.a_column]) *
             p.b[k * p.b_row + column * p.b_column];
    }
    EXPECT_NEAR(y[static_cast<size_t>(i)], sum,
                8 * (s.k + 1) * std::numeric_limits<T>::epsilon());
  }
  EXPECT_EQ(y.back(), T(77));
}

TYPED_TEST(LoopsTest, ProductsOfAllFormsAndSizes) {
  using T = TypeParam;
  const Sizes sizes[] = {{1, 1, 1},   {16, 32, 16}, {16, 4, 32}, {5, 3, 7},
                         {9, 61, 19}, {8, 64, 64},  {3, 31, 2},  {17, 10, 40},
                         {2, 48, 5},  {64, 64, 64}, {7, 23, 11}};
  for (const Loops& level : all_loops()) {
    for (Sizes s : sizes) {
      for (int form = 0; form < 8; ++form) {
        SCOPED_TRACE(std::string(level.level) + " form " +
                     std::to_string(form));
        expect_product(level.of<T>(), s, form & 1, form & 2, form & 4);
      }
    }
  }
}

// A row of y must not depend on how many rows there are.
TYPED_TEST(LoopsTest, RowsOfProductsDoNotDependOnOthers) {
  using T = TypeParam;
  constexpr int64_t kRows = 13, kColumns = 27, kInner = 21;
  auto a = random_numbers<T>(kRows * kInner, 13);
  auto b = random_numbers<T>(kInner * kColumns, 14);
  for (const Loops& level : all_loops()) {
    Numbers<T> all(kRows * kColumns), one(kRows * kColumns);
    SmallProduct<T> p{.y = all.data(),
                      .a = a.data(),
                      .b = b.data(),
                      .m = kRows,
                      .n = kColumns,
                      .k = kInner,
                      .a_row = kInner,
                      .a_column = 1,
                      .b_row = kColumns,
                      .b_column = 1};
    level.of<T>().product(p);
    p.m = 1;
    for (int64_t r = 0; r < kRows; ++r) {
      p.a = a.data() + r * kInner;
      p.y = one.data() + r * kColumns;
      level.of<T>().product(p);
    }
    EXPECT_TRUE(same_bits(all, one)) << level.level;
  }
}

}  // namespace
}  // namespace braid::runtime
