// Functions in fusions against libm, over all sizes of numbers.
#include <cmath>
#include <limits>
#include <string_view>

#include "braid/ops/core/fusion.h"
#include "levels.h"

namespace braid::runtime {
namespace {

template <class T>
constexpr T kInfinity = std::numeric_limits<T>::infinity();

template <class T>
Numbers<T> run(const LoopsOf<T>& loops, const char* op, const Numbers<T>& x,
               T v = 0, T w = 0) {
  Numbers<T> y(x.size());
  loops.fusion_loop(op)(y.data(), x.data(), x.data(), x.data(), v, w,
                        static_cast<int64_t>(x.size()));
  return y;
}

// Numbers of both signs from the smallest to `most`, and a dense range.
template <class T>
Numbers<T> all_sizes(double most) {
  Numbers<T> x;
  for (double size = 1e-40; size < most; size *= 1.0007) {
    x.push_back(static_cast<T>(size));
    x.push_back(static_cast<T>(-size));
  }
  for (double value = -most; value < most; value += most / 50000) {
    x.push_back(static_cast<T>(value));
  }
  return x;
}

// Distance in units of the last place of what is right.
template <class T>
double units(T found, long double right) {
  if (found == static_cast<T>(right)) return 0;
  int exponent = std::ilogb(static_cast<T>(right));
  long double unit =
      std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits + 1);
  return static_cast<double>(std::fabs(found - right) / unit);
}

template <class T, class F>
void expect_near(const char* op, double most, double limit, F right) {
  Numbers<T> x = all_sizes<T>(most);
  Numbers<T> y = run<T>(all_loops().back().of<T>(), op, x);
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    long double want = right(static_cast<long double>(x[i]));
    bool is_normal = std::fabs(want) >= std::numeric_limits<T>::min();
    double distance = is_normal ? units(y[i], want) : 0;
    if (distance <= worst) continue;
    worst = distance;
    EXPECT_LE(distance, limit) << op << " of " << x[i];
  }
}

long double sigmoid(long double x) { return 1 / (1 + std::exp(-x)); }

TEST(FusionMathTest, FloatsAreGoodToThreeUnits) {
  expect_near<float>("exp", 88.7, 3, [](auto x) { return std::exp(x); });
  expect_near<float>("tanh", 30, 3, [](auto x) { return std::tanh(x); });
  expect_near<float>("sigmoid", 80, 3, sigmoid);
}

TEST(FusionMathTest, DoublesAreGoodToFourUnits) {
  expect_near<double>("exp", 709.7, 4, [](auto x) { return std::exp(x); });
  expect_near<double>("tanh", 60, 4, [](auto x) { return std::tanh(x); });
  expect_near<double>("sigmoid", 700, 4, sigmoid);
}

template <class T>
void expect_special_values() {
  const T inf = kInfinity<T>, nan = std::numeric_limits<T>::quiet_NaN();
  const T large = std::numeric_limits<T>::max();
  const LoopsOf<T>& loops = all_loops().back().of<T>();
  Numbers<T> x{inf, -inf, large, -large, 0, -T(0), 1000, -1000};
  EXPECT_EQ(run<T>(loops, "exp", x),
            (Numbers<T>{inf, 0, inf, 0, 1, 1, inf, 0}));
  EXPECT_EQ(run<T>(loops, "tanh", x), (Numbers<T>{1, -1, 1, -1, 0, 0, 1, -1}));
  EXPECT_TRUE(std::signbit(run<T>(loops, "tanh", x)[5]));
  EXPECT_EQ(run<T>(loops, "sigmoid", x),
            (Numbers<T>{1, 0, 1, 0, 0.5, 0.5, 1, 0}));
  for (const char* op : {"exp", "tanh", "sigmoid", "silu", "gelu", "relu",
                         "maximum", "minimum", "hardswish", "hardsigmoid"}) {
    EXPECT_TRUE(std::isnan(run<T>(loops, op, {nan})[0])) << op;
  }
  EXPECT_TRUE(std::isnan(run<T>(loops, "clamp", {nan}, 0, 1)[0]));
}

TEST(FusionMathTest, SpecialValuesAreAsTheyShouldBe) {
  expect_special_values<float>();
  expect_special_values<double>();
}

// Numbers too small to be normal come out too.
TEST(FusionMathTest, SmallResultsOfExpAreNotLost) {
  const Loops loops = all_loops().back();
  float small = run<float>(loops.f32, "exp", {-100.0f})[0];
  EXPECT_NEAR(small / std::exp(-100.0f), 1, 0.05);
  double smaller = run<double>(loops.f64, "exp", {-740.0})[0];
  EXPECT_NEAR(smaller / std::exp(-740.0), 1, 0.05);
}

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
