#include "braid/data/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace braid::data {
namespace {

std::vector<int64_t> epoch_of(Order& order, int64_t epoch, int64_t size) {
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < size; ++i) indices.push_back(order.index(epoch, i));
  return indices;
}

std::vector<int64_t> epoch_of(int64_t seed, int64_t epoch, int64_t size) {
  Order order(size, seed, {});
  return epoch_of(order, epoch, size);
}

TEST(Order, WithoutShuffleIsFromFirstToLast) {
  Order order(4, 7, {.shuffle = false});
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
  Order order(50, 3, {});
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

// Sizes that blocks and windows divide, and others.
TEST(OrderOfBlocks, VisitsEverySampleOnce) {
  for (int64_t size : {1, 2, 7, 12, 100, 101}) {
    for (int64_t block : {1, 3, 5, 1000}) {
      for (int64_t window : {1, 2, 4, 1000}) {
        Order order(size, 1, {.block = block, .window = window});
        for (int64_t epoch : {0, 1, 2}) {
          std::vector<int64_t> all = epoch_of(order, epoch, size);
          std::ranges::sort(all);
          std::vector<int64_t> expected(static_cast<size_t>(size));
          std::iota(expected.begin(), expected.end(), 0);
          ASSERT_EQ(all, expected) << size << " " << block << " " << window;
        }
      }
    }
  }
}

// A window has the samples of its blocks and no others, mixed.
TEST(OrderOfBlocks, ReadsAFewBlocksAtATime) {
  Order order(103, 5, {.block = 10, .window = 3});
  std::vector<int64_t> all = epoch_of(order, 0, 103);
  size_t at = 0;
  std::set<int64_t> seen;
  while (at < all.size()) {
    std::set<int64_t> blocks;
    size_t end = at;
    while (end < all.size() &&
           (blocks.contains(all[end] / 10) || blocks.size() < 3)) {
      blocks.insert(all[end++] / 10);
    }
    bool has_short = blocks.contains(10);
    if (end < all.size()) {
      EXPECT_EQ(end - at, has_short ? 23U : 30U);
    }
    EXPECT_FALSE(
        std::ranges::is_sorted(all.begin() + static_cast<int64_t>(at),
                               all.begin() + static_cast<int64_t>(end)));
    for (int64_t block : blocks) EXPECT_TRUE(seen.insert(block).second);
    at = end;
  }
  EXPECT_EQ(seen.size(), 11U);
  Order other(103, 5, {.block = 10, .window = 3});
  EXPECT_NE(epoch_of(other, 1, 103), all);
}

TEST(OrderOfBlocks, DoesNotDependOnWhatWasAskedBefore) {
  Mixing mixing{.block = 4, .window = 3};
  Order order(50, 3, mixing);
  std::vector<int64_t> all = epoch_of(order, 2, 50);
  for (int64_t i : {49, 0, 17, 30, 3}) {
    Order fresh(50, 3, mixing);
    EXPECT_EQ(fresh.index(2, i), all[static_cast<size_t>(i)]);
    EXPECT_EQ(order.index(2, i), all[static_cast<size_t>(i)]);
  }
}

TEST(OrderOfBlocks, SaysOnceWhichBlocksItCameTo) {
  Order order(25, 3, {.block = 10, .window = 2});
  EXPECT_TRUE(order.take_new_blocks().empty());
  std::set<int64_t> firsts;
  for (int64_t i = 0; i < 25; ++i) {
    int64_t index = order.index(0, i);
    for (const SampleRange& block : order.take_new_blocks()) {
      EXPECT_EQ(block.count, block.first == 20 ? 5 : 10);
      EXPECT_TRUE(firsts.insert(block.first).second);
    }
    EXPECT_TRUE(firsts.contains(index / 10 * 10)) << index;
  }
  EXPECT_EQ(firsts, (std::set<int64_t>{0, 10, 20}));
  Order plain(25, 3, {});
  plain.index(0, 0);
  EXPECT_TRUE(plain.take_new_blocks().empty());
}

// Each sample is as likely as others to come first.
TEST(OrderOfBlocks, GivesAllSamplesAlike) {
  Order order(6, 4, {.block = 2, .window = 2});
  std::map<int64_t, int> counts;
  for (int64_t epoch = 0; epoch < 6000; ++epoch)
    ++counts[order.index(epoch, 0)];
  ASSERT_EQ(counts.size(), 6U);
  for (const auto& [sample, count] : counts) EXPECT_NEAR(count, 1000, 150);
}

}  // namespace
}  // namespace braid::data
