#include "braid/train/array/batch_feed.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "passes/text_graphs.h"
#include "train/small_data.h"

namespace braid::train {
namespace {

using passes::graph_of;

template <class T>
std::vector<T> values(const std::byte* bytes, size_t count) {
  std::vector<T> made(count);
  std::memcpy(made.data(), bytes, count * sizeof(T));
  return made;
}

// Micro-batches of two rows: a field, another under its own name, noise.
Graph program_graph(const std::string& dtype = "f32") {
  return graph_of(fmt::format(R"(
    input %0 "label" i64[2]
    input %1 "/micro" i64[]
    input %2 "z" {}[2, 3]
    input %3 "x" f32[2, 2]
    output "loss" %1
  )",
                              dtype));
}

class BatchFeedTest : public testing::Test {
 protected:
  BatchFeedTest() {
    data_ = small_data(20);
    data_.inputs = {{"y", "label"}};
    config_.noise["z"] = {.shape = {3}, .kind = "normal"};
    config_.seed = 7;
    batch_ = read_batch(*data_.train, {5, 6, 7, 8});
  }

  std::vector<float> noise(BatchFeed& feed, int64_t step, int64_t micro) {
    feed.set(batch_, step);
    return values<float>(feed.at(micro, 2), 6);
  }

  JobData data_;
  JobConfig config_;
  OwnedBatch batch_;
};

TEST_F(BatchFeedTest, MicroBatchesAreRowsInOrder) {
  Graph graph = program_graph();
  BatchFeed feed(data_, config_, graph);
  feed.set(batch_, 0);
  EXPECT_EQ(values<int64_t>(feed.at(0, 0), 2), (std::vector<int64_t>{5, 6}));
  EXPECT_EQ(values<int64_t>(feed.at(1, 0), 2), (std::vector<int64_t>{7, 8}));
  EXPECT_EQ(values<float>(feed.at(0, 3), 4),
            (std::vector<float>{5, 5.5, 6, 6.5}));
  EXPECT_EQ(values<float>(feed.at(1, 3), 4),
            (std::vector<float>{7, 7.5, 8, 8.5}));
}

TEST_F(BatchFeedTest, ANewBatchTakesTheOldOnesPlace) {
  Graph graph = program_graph();
  BatchFeed feed(data_, config_, graph);
  feed.set(batch_, 0);
  OwnedBatch next = read_batch(*data_.train, {1, 2, 3, 4});
  feed.set(next, 1);
  EXPECT_EQ(values<int64_t>(feed.at(0, 0), 2), (std::vector<int64_t>{1, 2}));
}

TEST_F(BatchFeedTest, NoiseIsCountedThroughTheWholeBatch) {
  Graph graph = program_graph();
  BatchFeed feed(data_, config_, graph);
  std::vector<float> first = noise(feed, 12, 0), second = noise(feed, 12, 1);
  for (uint64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(first[i], static_cast<float>(noise_value(7, "z", 12, i, true)));
    EXPECT_EQ(second[i],
              static_cast<float>(noise_value(7, "z", 12, i + 6, true)));
  }
}

TEST_F(BatchFeedTest, NoiseIsTheSameAgainAndNewInEveryStep) {
  Graph graph = program_graph();
  BatchFeed feed(data_, config_, graph), other(data_, config_, graph);
  std::vector<float> now = noise(feed, 3, 0);
  EXPECT_NE(noise(feed, 4, 0), now);
  EXPECT_EQ(noise(other, 3, 0), now);
  config_.seed = 8;
  BatchFeed seeded(data_, config_, graph);
  EXPECT_NE(noise(seeded, 3, 0), now);
}

TEST_F(BatchFeedTest, NoiseIsOfTheInputsTypeAndKind) {
  config_.noise["z"].kind = "uniform";
  Graph graph = program_graph("f64");
  BatchFeed feed(data_, config_, graph);
  feed.set(batch_, 12);
  std::vector<double> drawn = values<double>(feed.at(0, 2), 6);
  EXPECT_EQ(drawn[3], 0.8097325039561838);
}

// Runs go on from checkpoints of earlier versions: these numbers stay.
TEST(NoiseValue, IsFixedForever) {
  EXPECT_EQ(noise_value(0, "z", 0, 0, false), 0.7167915632016957);
  EXPECT_EQ(noise_value(7, "other", 12, 3, false), 0.25690737226977944);
  EXPECT_EQ(noise_value(-1, "z", 5, 99, false), 0.323451392352581);
  EXPECT_NEAR(noise_value(0, "z", 0, 0, true), 1.1922089099084436, 1e-14);
  EXPECT_NEAR(noise_value(7, "z", 12, 3, true), -0.6340637140361812, 1e-14);
  EXPECT_NEAR(noise_value(-1, "z", 5, 99, true), 0.6347921155215464, 1e-14);
}

constexpr int kDraws = 40000;

// Mean, variance and fourth moment within five standard deviations.
TEST(NoiseValue, IsNormal) {
  double sum = 0, squares = 0, fourth = 0;
  for (int i = 0; i < kDraws; ++i) {
    double v =
        noise_value(3, "z", i / 100, static_cast<uint64_t>(i % 100), true);
    sum += v;
    squares += v * v;
    fourth += v * v * v * v;
  }
  double sigma = 5 / std::sqrt(kDraws);
  EXPECT_NEAR(sum / kDraws, 0, sigma);
  EXPECT_NEAR(squares / kDraws, 1, sigma * std::sqrt(2));
  EXPECT_NEAR(fourth / kDraws, 3, sigma * std::sqrt(96));
}

TEST(NoiseValue, IsUniformBelowOne) {
  double sum = 0, squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    double v = noise_value(3, "z", i, 0, false);
    ASSERT_GE(v, 0);
    ASSERT_LT(v, 1);
    sum += v;
    squares += v * v;
  }
  double sigma = 5 / std::sqrt(kDraws);
  EXPECT_NEAR(sum / kDraws, 0.5, sigma * std::sqrt(1.0 / 12));
  EXPECT_NEAR(squares / kDraws, 1.0 / 3, sigma * std::sqrt(4.0 / 45));
}

TEST(NoiseValue, StepsNamesSeedsAndElementsDrawApart) {
  std::set<double> seen;
  for (const char* name : {"a", "b"}) {
    for (int64_t seed : {0, 1}) {
      for (int64_t step : {0, 1}) {
        for (uint64_t element : {0, 1}) {
          seen.insert(noise_value(seed, name, step, element, true));
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), 16u);
}

}  // namespace
}  // namespace braid::train
