#include "braid/train/job/tensor_stats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace braid::train {
namespace {

template <class T>
TensorStats stats_of(const std::vector<T>& values, DType dtype) {
  return tensor_stats(std::as_bytes(std::span(values)), dtype);
}

TEST(TensorStats, AreThoseOfAllElements) {
  TensorStats s = stats_of<float>({0, 1, 2, -3}, DType::kFloat32);
  EXPECT_EQ(s.count, 4);
  EXPECT_EQ(s.mean, 0);
  EXPECT_DOUBLE_EQ(s.deviation, std::sqrt(14 / 4.0));
  EXPECT_EQ(s.least, -3);
  EXPECT_EQ(s.most, 2);
  EXPECT_EQ(s.zeros, 0.25);
  EXPECT_EQ(s.non_finite, 0);
}

TEST(TensorStats, LargeMeansLeaveSmallDeviations) {
  TensorStats s = stats_of<double>({1e9, 1e9 + 1}, DType::kFloat64);
  EXPECT_DOUBLE_EQ(s.deviation, 0.5);
}

TEST(TensorStats, NumbersThatAreNotFiniteAreOnlyCounted) {
  TensorStats s = stats_of<float>({NAN, 4, INFINITY, 0}, DType::kFloat32);
  EXPECT_EQ(s.non_finite, 2);
  EXPECT_EQ(s.mean, 2);
  EXPECT_EQ(s.most, 4);
  EXPECT_EQ(s.zeros, 0.25);
  TensorStats none = stats_of<float>({NAN}, DType::kFloat32);
  EXPECT_TRUE(std::isnan(none.mean) && std::isnan(none.least));
  EXPECT_TRUE(std::isnan(none.deviation));
}

TEST(TensorStats, OneElementHasNoDeviation) {
  EXPECT_EQ(stats_of<float>({7}, DType::kFloat32).deviation, 0);
  EXPECT_EQ(stats_of<float>({}, DType::kFloat32).count, 0);
}

}  // namespace
}  // namespace braid::train
