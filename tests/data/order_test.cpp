#include "braid/data/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace braid::data {
namespace {

std::vector<int64_t> epoch_of(Order& order, int64_t epoch, int64_t size) {
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < size; ++i) indices.push_back(order.index(epoch, i));
  return indices;
}

std::vector<int64_t> epoch_of(int64_t seed, int64_t epoch, int64_t size) {
  Order order(size, seed, true);
  return epoch_of(order, epoch, size);
}

TEST(Order, WithoutShuffleIsFromFirstToLast) {
  Order order(4, 7, false);
  EXPECT_EQ(epoch_of(order, 3, 4), (std::vector<int64_t>{0, 1, 2, 3}));
}

TEST(Order, VisitsEverySampleOnce) {
  for (int64_t size : {1, 2, 3, 100}) {
    std::vector<int64_t> all = epoch_of(1, 0, size);
    std::ranges::sort(all);
    std::vector<int64_t> expected(static_cast<size_t>(size));
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(all, expected);
  }
}

TEST(Order, DiffersBetweenSeedsAndEpochs) {
  EXPECT_NE(epoch_of(1, 0, 100), epoch_of(2, 0, 100));
  EXPECT_NE(epoch_of(1, 0, 100), epoch_of(1, 1, 100));
  EXPECT_NE(epoch_of(1, 1, 100), epoch_of(2, 0, 100));
}

TEST(Order, DoesNotDependOnWhatWasAskedBefore) {
  Order order(50, 3, true);
  std::vector<int64_t> second = epoch_of(order, 1, 50);
  epoch_of(order, 0, 50);
  EXPECT_EQ(epoch_of(order, 1, 50), second);
  EXPECT_EQ(epoch_of(3, 1, 50), second);
}

// Positions are part of checkpoints, so orders must never change.
TEST(Order, StaysAsItWas) {
  EXPECT_EQ(epoch_of(1, 0, 8), (std::vector<int64_t>{0, 1, 4, 6, 7, 2, 5, 3}));
}

TEST(Order, GivesAllPermutationsAlike) {
  std::map<std::vector<int64_t>, int> counts;
  for (int64_t epoch = 0; epoch < 6000; ++epoch)
    ++counts[epoch_of(9, epoch, 3)];
  ASSERT_EQ(counts.size(), 6U);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 150);
}

}  // namespace
}  // namespace braid::data
