// Functions of one number at every level: against long double over all
// exponents, what they make of NaN and infinities, and that an element's bits
// do not depend on where it lies.
#include <cmath>
#include <limits>
#include <string_view>

#include "braid/ops/core/fusion.h"
#include "runtime/kernels/loops/levels.h"

namespace braid::runtime {
namespace {

template <class T>
using Limits = std::numeric_limits<T>;

template <class T>
Numbers<T> run(const LoopsOf<T>& loops, std::string_view op,
               const Numbers<T>& x, T v = 0, T w = 0) {
  Numbers<T> y(x.size());
  loops.fusion_loop(op)(y.data(), x.data(), x.data(), x.data(), v, w,
                        static_cast<int64_t>(x.size()));
  return y;
}

// Every exponent, those of numbers that are not normal included, with some
// fractions and both signs; then a dense range of what functions bend in.
template <class T>
Numbers<T> all_exponents() {
  Numbers<T> x;
  for (int e = Limits<T>::min_exponent - Limits<T>::digits;
       e < Limits<T>::max_exponent; ++e) {
    for (double fraction : {1.0, 1.0001, 1.2345678, 1.5, 1.9, 1.99999988}) {
      x.push_back(std::ldexp(static_cast<T>(fraction), e));
      x.push_back(-x.back());
    }
  }
  const double most = sizeof(T) == 4 ? 110 : 750;
  for (double value = -most; value < most; value += most / 20000) {
    x.push_back(static_cast<T>(value));
  }
  return x;
}

// Distance in units of the last place of what is right; below the normal
// numbers, in those of the least of them.
template <class T>
double units(T found, long double right) {
  if (found == static_cast<T>(right)) return 0;
  if (!std::isfinite(found)) return Limits<double>::infinity();
  int exponent = right == 0 ? Limits<T>::min_exponent : std::ilogb(right) + 1;
  exponent = std::max(exponent, Limits<T>::min_exponent);
  long double unit = std::ldexp(1.0L, exponent - Limits<T>::digits);
  return static_cast<double>(std::fabs(found - right) / unit);
}

long double exact_exp(long double x) { return std::exp(x); }
long double exact_tanh(long double x) { return std::tanh(x); }
long double exact_sigmoid(long double x) { return 1 / (1 + std::exp(-x)); }

// Results below the normal numbers may be 0 where `rough`.
template <class T>
void expect_near(const Numbers<T>& x, const Numbers<T>& y, bool rough,
                 long double (*exact)(long double)) {
  const double limit = sizeof(T) == 4 ? 3 : 4;
  for (size_t i = 0; i < x.size(); ++i) {
    long double want = exact(static_cast<long double>(x[i]));
    bool is_small = std::fabs(want) < Limits<T>::min();
    if (rough && is_small && y[i] == 0) continue;
    ASSERT_LE(units(y[i], want), limit) << y[i] << " of " << x[i];
  }
}

template <class T>
class LoopMathTest : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(LoopMathTest, Types);

// Three units for float, four for double.
TYPED_TEST(LoopMathTest, FunctionsAreNearOverAllExponents) {
  using T = TypeParam;
  const Numbers<T> x = all_exponents<T>();
  for (const Loops& level : all_loops()) {
    SCOPED_TRACE(level.level);
    const LoopsOf<T>& loops = level.of<T>();
    expect_near(x, run<T>(loops, "exp", x), false, exact_exp);
    expect_near(x, run<T>(loops, "tanh", x), false, exact_tanh);
    expect_near(x, run<T>(loops, "sigmoid", x), true, exact_sigmoid);
  }
}

// Of numbers not above 0, which is what softmax has.
TYPED_TEST(LoopMathTest, PowersInSoftmaxAreNearOverAllExponents) {
  using T = TypeParam;
  Numbers<T> x = all_exponents<T>(), y(x.size());
  for (T& v : x) v = -std::fabs(v);
  for (const Loops& level : all_loops()) {
    SCOPED_TRACE(level.level);
    const T total = 0;
    level.of<T>().scaled_softmax(y.data(), x.data(), &total, 0, 1, 1,
                                 static_cast<int64_t>(x.size()));
    expect_near(x, y, true, exact_exp);
    Numbers<T> special{-Limits<T>::infinity(), Limits<T>::quiet_NaN()};
    level.of<T>().scaled_softmax(y.data(), special.data(), &total, 0, 1, 1, 2);
    EXPECT_EQ(y[0], 0);
    EXPECT_TRUE(std::isnan(y[1]));
  }
}

// As near as the steps of the formula can be, and nothing else than x or 0 far
// from 0.
TYPED_TEST(LoopMathTest, GelusAndSilusAreNearOverAllExponents) {
  using T = TypeParam;
  const Numbers<T> x = all_exponents<T>();
  for (const Loops& level : all_loops()) {
    SCOPED_TRACE(level.level);
    Numbers<T> gelu = run<T>(level.of<T>(), "gelu", x);
    Numbers<T> silu = run<T>(level.of<T>(), "silu", x);
    for (size_t i = 0; i < x.size(); ++i) {
      long double at = x[i];
      long double bell = 0.7978845608028654L * (at + 0.044715L * at * at * at);
      long double unit = Limits<T>::epsilon() * std::fabs(at);
      ASSERT_NEAR(gelu[i], at * exact_sigmoid(2 * bell),
                  4 * unit + Limits<T>::denorm_min())
          << "of " << at;
      ASSERT_NEAR(silu[i], at * exact_sigmoid(at),
                  4 * unit + Limits<T>::denorm_min())
          << "of " << at;
    }
  }
}

TYPED_TEST(LoopMathTest, SpecialValuesAreAsTheyShouldBe) {
  using T = TypeParam;
  const T inf = Limits<T>::infinity(), nan = Limits<T>::quiet_NaN();
  const T large = Limits<T>::max();
  const Numbers<T> x{inf, -inf, large, -large, 0, -T(0), 1000, -1000};
  for (const Loops& level : all_loops()) {
    SCOPED_TRACE(level.level);
    const LoopsOf<T>& loops = level.of<T>();
    EXPECT_EQ(run<T>(loops, "exp", x),
              (Numbers<T>{inf, 0, inf, 0, 1, 1, inf, 0}));
    EXPECT_EQ(run<T>(loops, "tanh", x),
              (Numbers<T>{1, -1, 1, -1, 0, 0, 1, -1}));
    EXPECT_TRUE(std::signbit(run<T>(loops, "tanh", x)[5]));
    EXPECT_EQ(run<T>(loops, "sigmoid", x),
              (Numbers<T>{1, 0, 1, 0, 0.5, 0.5, 1, 0}));
    // In a vector and alone.
    const Numbers<T> all(37, nan), one{nan};
    for (const char* op :
         {"exp", "tanh", "sigmoid", "silu", "gelu", "relu", "maximum",
          "minimum", "hardswish", "hardsigmoid", "clamp", "hardtanh"}) {
      for (T y : run<T>(loops, op, all, 0, 1)) EXPECT_TRUE(std::isnan(y)) << op;
      EXPECT_TRUE(std::isnan(run<T>(loops, op, one, 0, 1)[0])) << op;
    }
  }
}

TYPED_TEST(LoopMathTest, TheUpperLimitCountsWhenLimitsAreInTheWrongOrder) {
  using T = TypeParam;
  for (const Loops& level : all_loops()) {
    EXPECT_EQ(run<T>(level.of<T>(), "clamp", {-5, 1, 1.5, 2, 5}, 2, 1),
              (Numbers<T>{1, 1, 1, 1, 1}))
        << level.level;
  }
}

// What is left of a loop after the last whole vector goes other ways.
TYPED_TEST(LoopMathTest, BitsDoNotDependOnTheLengthOrThePlace) {
  using T = TypeParam;
  constexpr int64_t kCount = 150;
  const Numbers<T> a = random_numbers<T>(kCount, 1);
  const Numbers<T> b = random_numbers<T>(kCount, 2);
  for (const Loops& level : all_loops()) {
    for (const FusionOp& op : fusion_ops()) {
      auto loop = level.of<T>().fusion_loop(op.name);
      auto part = [&](int64_t from, int64_t count) {
        Numbers<T> y(static_cast<size_t>(count));
        loop(y.data(), a.data() + from, b.data() + from, b.data() + from,
             T(0.3), T(0.7), count);
        return y;
      };
      const Numbers<T> whole = part(0, kCount);
      for (int64_t from : {0, 1, 7, 64}) {
        for (int64_t count = 1; count < 70; ++count) {
          Numbers<T> same(whole.begin() + from, whole.begin() + from + count);
          // NaN too: what is compared is bits.
          ASSERT_TRUE(same_bits(part(from, count), same))
              << op.name << " at " << level.level << ", " << count << " from "
              << from;
        }
      }
    }
  }
}

// A row among others has the bits that it has alone, at any address.
TYPED_TEST(LoopMathTest, BitsOfARowDoNotDependOnThePlace) {
  using T = TypeParam;
  constexpr int64_t kRows = 19;
  for (int64_t columns : {1, 5, 16, 31, 32, 33, 61}) {
    const auto x = random_numbers<T>(kRows * columns, 3);
    for (const Loops& level : all_loops()) {
      const LoopsOf<T>& loops = level.of<T>();
      auto all = [&](int64_t first, int64_t rows) {
        const T* at = x.data() + first * columns;
        auto count = static_cast<size_t>(rows);
        Numbers<T> y(count * static_cast<size_t>(columns)), norm = y, soft = y;
        Numbers<T> totals(count), mean(count), rstd(count);
        loops.log_sum_exp(totals.data(), at, rows, columns);
        loops.scaled_softmax(y.data(), at, totals.data(), T(0.1), 2, rows,
                             columns);
        loops.layer_norm(norm.data(), at, nullptr, nullptr, rows, columns, 1e-5,
                         mean.data(), rstd.data());
        for (int64_t r = 0; r < rows; ++r) {
          loops.softmax_row(soft.data() + r * columns, at + r * columns, T(0.5),
                            columns, columns);
        }
        Numbers<T> last;  // of the last row
        for (const auto* part : {&y, &norm, &soft}) {
          last.insert(last.end(), part->end() - columns, part->end());
        }
        last.insert(last.end(), {totals.back(), mean.back(), rstd.back()});
        return last;
      };
      for (int64_t r = 0; r < kRows; ++r) {
        ASSERT_TRUE(same_bits(all(0, r + 1), all(r, 1)))
            << "row " << r << " of " << columns << " at " << level.level;
      }
    }
  }
}

}  // namespace
}  // namespace braid::runtime
