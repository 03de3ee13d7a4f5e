#include "braid/data/split.h"

#include <gtest/gtest.h>

#include <set>

#include "data/files.h"

namespace braid::data {
namespace {

std::vector<int64_t> numbers_of(const Part& part) {
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < part.count; ++i) numbers.push_back(part[i]);
  return numbers;
}

std::vector<int64_t> eval_numbers(Split split, int64_t size) {
  return numbers_of(split_samples(split, size, 0, "numbers").eval);
}

// Every sample is in one part, and both go on in the order of the data.
void expect_parted(const Parts& parts, int64_t size) {
  std::vector<int64_t> train = numbers_of(parts.train),
                       eval = numbers_of(parts.eval);
  EXPECT_TRUE(std::ranges::is_sorted(train));
  EXPECT_TRUE(std::ranges::is_sorted(eval));
  std::set<int64_t> all(train.begin(), train.end());
  all.insert(eval.begin(), eval.end());
  EXPECT_EQ(train.size() + eval.size(), static_cast<size_t>(size));
  EXPECT_EQ(all.size(), static_cast<size_t>(size));
  EXPECT_EQ(*all.begin(), 0);
  EXPECT_EQ(*all.rbegin(), size - 1);
}

TEST(Split, EverySampleIsInOnePart) {
  for (int64_t size : {2, 3, 37, 1000}) {
    for (Split split : {Split{0.5, 0}, Split{0.34, 7}}) {
      expect_parted(split_samples(split, size, 0, "numbers"), size);
    }
  }
}

TEST(Split, AShareIsRoundedAndACountIsExact) {
  EXPECT_EQ(eval_numbers({0.1, 0}, 37).size(), 4u);
  EXPECT_EQ(eval_numbers({0.1, 0}, 34).size(), 3u);
  EXPECT_EQ(eval_numbers({0.999, 0}, 1000).size(), 999u);
  EXPECT_EQ(eval_numbers({5, 0}, 37).size(), 5u);
  EXPECT_EQ(eval_numbers({36, 0}, 37).size(), 36u);
}

TEST(Split, OnlyTheSeedDecidesWhich) {
  EXPECT_EQ(eval_numbers({0.2, 3}, 100), eval_numbers({0.2, 3}, 100));
  EXPECT_EQ(eval_numbers({0.2, 3}, 100), eval_numbers({20, 3}, 100));
  EXPECT_NE(eval_numbers({0.2, 3}, 100), eval_numbers({0.2, 4}, 100));
}

// Over many seeds each sample is held back as often as the share says.
TEST(Split, SamplesAreDrawnEvenly) {
  constexpr int kSeeds = 2000, kSize = 10;
  std::vector<int> counts(kSize);
  for (int seed = 0; seed < kSeeds; ++seed) {
    for (int64_t n : eval_numbers({3, seed}, kSize)) {
      ++counts[static_cast<size_t>(n)];
    }
  }
  for (int count : counts) EXPECT_NEAR(count, kSeeds * 0.3, 100);
}

TEST(Split, BothPartsNeedASample) {
  for (auto [eval, size] :
       {std::pair{0.1, 3}, std::pair{0.5, 1}, std::pair{0.9, 3},
        std::pair{4.0, 4}, std::pair{5.0, 4}}) {
    std::string message = error_of<std::invalid_argument>([&] {
      split_samples({eval, 0}, size, 0, "numbers.npy");
    });
    expect_contains(message, "[data.split]");
    expect_contains(message, "numbers.npy");
    expect_contains(message, "HINT:");
  }
}

TEST(Split, WhatIsNoShareAndNoCountIsSaid) {
  for (double eval : {0.0, 1.0, -0.1, -3.0, 1.5, 2.5, 1e300}) {
    EXPECT_NE(split_problem({eval, 0}), "") << eval;
  }
  for (double eval : {1e-9, 0.5, 0.999, 2.0, 1e9}) {
    EXPECT_EQ(split_problem({eval, 0}), "") << eval;
  }
}

TEST(Split, PartsReadTheirSamples) {
  auto whole = std::make_shared<Numbers>(20);
  Parts parts = split_samples({0.25, 1}, 20, 0, "numbers");
  DatasetPtr eval = part_of(whole, parts.eval);
  ASSERT_EQ(eval->size(), 5);
  for (int64_t i = 0; i < 5; ++i) {
    int64_t number = parts.eval[i];
    EXPECT_EQ(values_of<int64_t>(*eval, i, 0)[0], number);
    EXPECT_EQ(eval->place(0, i), whole->place(0, number));
  }
}

// The tokens of a file are their own places.
class Windows : public testing::TestWithParam<std::pair<int, int>> {
 protected:
  static DatasetPtr open(int length, int stride, int64_t tokens = 200) {
    static ScratchDirectory scratch;
    std::vector<uint16_t> row;
    for (int64_t i = 0; i < tokens; ++i) {
      row.push_back(static_cast<uint16_t>(i));
    }
    write_text(scratch.path() / "t.bin", bytes_text(row));
    return open_source("tokens",
                       {{"file", "t.bin"},
                        {"length", std::to_string(length)},
                        {"stride", std::to_string(stride)}},
                       scratch.path());
  }
};

TEST_P(Windows, NoTokenThatIsPredictedWasSeen) {
  auto [length, stride] = GetParam();
  DatasetPtr whole = open(length, stride);
  Parts parts = split_samples({0.2, 5}, whole->size(), whole->reach(), "t");
  DatasetPtr train = part_of(whole, parts.train),
             eval = part_of(whole, parts.eval);
  EXPECT_NEAR(static_cast<double>(eval->size()),
              0.2 * static_cast<double>(whole->size()), 0.5);
  int64_t last_seen = 0;
  for (int64_t i = 0; i < train->size(); ++i) {
    last_seen = std::max(last_seen, values_of<int64_t>(*train, i, 1).back());
  }
  // One more window of training would overlap.
  int64_t next = values_of<int64_t>(*whole, train->size(), 1).back();
  int64_t first_target = values_of<int64_t>(*eval, 0, 1).front();
  EXPECT_LT(last_seen, first_target);
  EXPECT_GE(next, first_target);
  EXPECT_EQ(values_of<int64_t>(*eval, eval->size() - 1, 1),
            values_of<int64_t>(*whole, whole->size() - 1, 1));
}

INSTANTIATE_TEST_SUITE_P(Split, Windows,
                         testing::Values(std::pair{8, 8}, std::pair{8, 1},
                                         std::pair{8, 3}, std::pair{8, 11},
                                         std::pair{1, 1}, std::pair{7, 6}));

TEST(Split, FirstSamplesAndOrdersKeepTheReach) {
  ScratchDirectory scratch;
  write_text(scratch.path() / "a.txt", std::string(100, 'a') + "b");
  DatasetPtr data = open_source(
      "text",
      {{"file", "a.txt"}, {"length", "10"}, {"stride", "3"}, {"limit", "9"}},
      scratch.path());
  EXPECT_EQ(data->reach(), 4);
  EXPECT_EQ(ordered_fields(data, {"targets", "tokens"})->reach(), 4);
  EXPECT_EQ(part_of(data, {.first = 2, .count = 3})->reach(), 4);
}

}  // namespace
}  // namespace braid::data
