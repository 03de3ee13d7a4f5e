#include "braid/train/run/number_sums.h"

#include <gtest/gtest.h>

#include <cmath>

namespace braid::train {
namespace {

using Rows = std::vector<std::vector<double>>;

NumberSums sums_of(const Rows& predicted, const Rows& target) {
  NumberSums sums(static_cast<int64_t>(target[0].size()));
  for (size_t i = 0; i < target.size(); ++i) sums.add(predicted[i], target[i]);
  return sums;
}

TEST(NumberSums, MeansAreOverColumns) {
  NumberSums sums = sums_of({{1, 0}, {2, 0}, {6, 0}}, {{1, 2}, {3, 2}, {5, 5}});
  EXPECT_DOUBLE_EQ(sums.value("mae"), (0 + 1 + 1 + 2 + 2 + 5) / 6.0);
  EXPECT_DOUBLE_EQ(sums.value("mse"), (0 + 1 + 1 + 4 + 4 + 25) / 6.0);
  EXPECT_DOUBLE_EQ(sums.value("rmse"),
                   (std::sqrt(2 / 3.0) + std::sqrt(33 / 3.0)) / 2);
  EXPECT_DOUBLE_EQ(sums.value("r2"), (1 - 2 / 8.0 + 1 - 33 / 6.0) / 2);
}

// Squares of the numbers themselves would lose all digits of this variance.
TEST(NumberSums, LargeMeansLeaveSmallVariances) {
  Rows predicted, target;
  for (int i = 0; i < 1000; ++i) {
    target.push_back({1e9 + i % 2});
    predicted.push_back({1e9 + 0.5});
  }
  EXPECT_NEAR(sums_of(predicted, target).value("r2"), 0, 1e-12);
}

TEST(NumberSums, WhatIsNotDefinedIsAsScikitLearnHasIt) {
  EXPECT_TRUE(std::isnan(NumberSums(1).value("mae")));
  NumberSums one = sums_of({{1}}, {{3}});
  EXPECT_EQ(one.value("mse"), 4);
  EXPECT_TRUE(std::isnan(one.value("r2")));
  EXPECT_EQ(sums_of({{0.1}, {0.1}}, {{0.1}, {0.1}}).value("r2"), 1);
  EXPECT_EQ(sums_of({{0.1}, {0.2}}, {{0.1}, {0.1}}).value("r2"), 0);
}

}  // namespace
}  // namespace braid::train
