#include "braid/runtime/initial_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "braid/graph/init.h"
#include "braid/runtime/state.h"

namespace braid::runtime {
namespace {

Slot slot(const std::string& init, Shape shape, const char* name = "w") {
  return {.name = name,
          .dtype = DType::kFloat64,
          .shape = std::move(shape),
          .init = parse_init(init)};
}

std::vector<double> values_of(const Slot& s, int64_t seed = 1) {
  std::vector<double> values(static_cast<size_t>(num_elements(s.shape)));
  initial_values(s, seed)(values, 0);
  return values;
}

using Cdf = std::function<double(double)>;

// Kolmogorov and Smirnov's distance between numbers and a distribution.
double distance(std::vector<double> values, const Cdf& cdf) {
  std::sort(values.begin(), values.end());
  auto count = static_cast<double>(values.size());
  double most = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    auto below = static_cast<double>(i);
    double p = cdf(values[i]);
    most = std::max({most, p - below / count, (below + 1) / count - p});
  }
  return most;
}

Cdf uniform(double bound) {
  return
      [=](double x) { return std::clamp((x + bound) / (2 * bound), 0.0, 1.0); };
}

Cdf normal(double mean, double std) {
  return [=](double x) {
    return std::erfc((mean - x) / std / std::numbers::sqrt2) / 2;
  };
}

Cdf truncated(double mean, double std, double low, double high) {
  return [=, cdf = normal(mean, std)](double x) {
    return (cdf(x) - cdf(low)) / (cdf(high) - cdf(low));
  };
}

constexpr int64_t kRows = 200, kColumns = 300;  // n = 60,000
// One fair set of n numbers in a thousand is farther than 1.95 / sqrt(n).
const double kFar = 1.95 / std::sqrt(kRows * kColumns);

struct Case {
  const char* init;
  Cdf cdf;
};

TEST(InitialValues, FollowTheirDistribution) {
  const double both = kRows + kColumns, in = kColumns, out = kRows;
  const Case cases[] = {
      {"uniform(low=-2,high=2)", uniform(2)},
      {"normal(mean=1,std=3)", normal(1, 3)},
      {"trunc_normal", truncated(0, 1, -2, 2)},
      {"trunc_normal(mean=1,std=2,a=0,b=2.5)", truncated(1, 2, 0, 2.5)},
      {"trunc_normal(mean=0,std=0.02,a=-2,b=2)", normal(0, 0.02)},
      {"xavier_uniform(gain=1.4)", uniform(1.4 * std::sqrt(6 / both))},
      {"xavier_normal(gain=1.4)", normal(0, 1.4 * std::sqrt(2 / both))},
      {"kaiming_uniform", uniform(std::sqrt(6 / in))},
      {"kaiming_uniform(a=0.5)", uniform(std::sqrt(6 / 1.25 / in))},
      {"kaiming_normal(fan_out=1)", normal(0, std::sqrt(2 / out))},
      // Columns of an orthogonal matrix look like normal numbers.
      {"orthogonal", normal(0, std::sqrt(1 / in))},
  };
  for (const Case& c : cases) {
    for (int64_t seed : {1, 2, 3}) {
      auto values = values_of(slot(c.init, {kRows, kColumns}), seed);
      EXPECT_LT(distance(values, c.cdf), kFar) << c.init;
    }
    // The measure would see a scale that is off by a twentieth.
    auto values = values_of(slot(c.init, {kRows, kColumns}));
    for (double& v : values) v *= 1.05;
    EXPECT_GT(distance(values, c.cdf), kFar) << c.init;
  }
}

TEST(InitialValues, StayWithinTheirBounds) {
  auto check = [](const char* text, double low, double high) {
    auto values = values_of(slot(text, {kRows, kColumns}));
    auto [least, most] = std::minmax_element(values.begin(), values.end());
    EXPECT_GE(*least, low) << text;
    EXPECT_LE(*most, high) << text;
    EXPECT_LT(*least, low + (high - low) * 1e-3) << text;
    EXPECT_GT(*most, high - (high - low) * 1e-3) << text;
  };
  check("trunc_normal(std=3)", -2, 2);
  check("trunc_normal(mean=5,a=4,b=5.5)", 4, 5.5);
  double bound = std::sqrt(6.0 / (kRows + kColumns));
  check("xavier_uniform", -bound, bound);
  // Bounds where there is hardly any of the distribution still hold.
  for (double v : values_of(slot("trunc_normal(a=40,b=41)", {100}))) {
    EXPECT_TRUE(v >= 40 && v <= 41);
  }
}

// The sum of products of rows i and j.
double product(const std::vector<double>& m, int64_t columns, int64_t i,
               int64_t j) {
  double sum = 0;
  for (int64_t k = 0; k < columns; ++k) {
    sum += m[static_cast<size_t>(i * columns + k)] *
           m[static_cast<size_t>(j * columns + k)];
  }
  return sum;
}

TEST(InitialValues, OrthogonalRowsAreOrthogonal) {
  for (Shape shape : {Shape{20, 50}, Shape{30, 30}, Shape{8, 3, 5, 5}}) {
    auto m = values_of(slot("orthogonal(gain=3)", shape));
    int64_t rows = shape[0], columns = num_elements(shape) / rows;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < rows; ++j) {
        EXPECT_NEAR(product(m, columns, i, j) / 9, i == j ? 1 : 0, 1e-12);
      }
    }
  }
}

TEST(InitialValues, OrthogonalColumnsAreOrthogonal) {
  Shape shape{50, 20};
  auto m = values_of(slot("orthogonal", shape));
  std::vector<double> turned(m.size());
  for (size_t i = 0; i < 50; ++i) {
    for (size_t j = 0; j < 20; ++j) turned[j * 50 + i] = m[i * 20 + j];
  }
  for (int64_t i = 0; i < 20; ++i) {
    for (int64_t j = 0; j < 20; ++j) {
      EXPECT_NEAR(product(turned, 50, i, j), i == j ? 1 : 0, 1e-12);
    }
  }
}

// Gram and Schmidt's way to the same matrix: R has a positive diagonal.
TEST(InitialValues, OrthogonalHasTheSignsOfTorch) {
  const size_t n = 12;
  auto a = values_of(slot("normal", {n, n}));  // [column][row]
  auto q = values_of(slot("orthogonal", {n, n}));
  for (size_t k = 0; k < n; ++k) {
    double* column = &a[k * n];
    for (size_t j = 0; j < k; ++j) {
      double dot = 0;
      for (size_t i = 0; i < n; ++i) dot += column[i] * a[j * n + i];
      for (size_t i = 0; i < n; ++i) column[i] -= dot * a[j * n + i];
    }
    double norm = 0;
    for (size_t i = 0; i < n; ++i) norm += column[i] * column[i];
    for (size_t i = 0; i < n; ++i) {
      column[i] /= std::sqrt(norm);
      EXPECT_NEAR(q[i * n + k], column[i], 1e-10);
    }
  }
}

TEST(InitialValues, OneByOneIsASign) {
  auto one = values_of(slot("orthogonal(gain=2)", {1, 1}));
  EXPECT_NEAR(std::abs(one[0]), 2, 1e-12);
  EXPECT_TRUE(values_of(slot("orthogonal", {0, 3})).empty());
  EXPECT_TRUE(values_of(slot("orthogonal", {3, 0})).empty());
  EXPECT_TRUE(values_of(slot("xavier_normal", {0, 0})).empty());
}

TEST(InitialValues, EyeAndDirac) {
  EXPECT_EQ(values_of(slot("eye", {2, 3})),
            (std::vector<double>{1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(values_of(slot("dirac", {2, 2, 3})),
            (std::vector<double>{0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0}));
  auto wide = values_of(slot("dirac", {3, 1, 3, 3}));
  EXPECT_EQ(wide[4], 1);
  EXPECT_EQ(std::count(wide.begin(), wide.end(), 1), 1);
}

TEST(InitialValues, DependOnSeedAndNameAlone) {
  for (const char* text : {"orthogonal", "trunc_normal", "xavier_normal"}) {
    Slot a = slot(text, {6, 5}), in_array = a;
    in_array.members = 7;
    EXPECT_EQ(values_of(a), values_of(in_array)) << text;
    EXPECT_NE(values_of(a, 1), values_of(a, 2)) << text;
    EXPECT_NE(values_of(a), values_of(slot(text, {6, 5}, "v"))) << text;
  }
}

TEST(InitialValues, ReachTheBytesOfAFloatSlot) {
  Slot s = slot("orthogonal", {4, 4});
  s.dtype = DType::kFloat32;
  auto bytes = initial_content(s, 1);
  const auto* data = reinterpret_cast<const float*>(bytes.data());
  auto values = values_of(s);
  for (size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(data[i], static_cast<float>(values[i]));
  }
}

TEST(InitialValues, AShapeThatDoesNotFitIsRefused) {
  try {
    initial_values(slot("xavier_uniform", {3}), 1);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(),
                 "[init] slot 'w': xavier_uniform does not fit the shape [3]");
  }
}

TEST(InverseErf, UndoesErf) {
  for (double x = -5; x <= 5; x += 0.01) {
    double y = std::erf(x);
    // A unit in the last place of y moves x by this much.
    double response = 1e-16 / std::exp(-x * x);
    EXPECT_NEAR(inverse_erf(y), x, 1e-14 + 4 * response);
  }
  EXPECT_EQ(inverse_erf(0), 0);
}

}  // namespace
}  // namespace braid::runtime
