#include "braid/train/run/run_record.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

namespace braid::train {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 5> kLater = {
    "raw_evaluation", "skips", "config", "train_data", "eval_data"};

RunRecord sample() {
  return {.step = 12,
          .position = {2, 96},
          .time_s = 1.0 / 3,
          .loss_sums = {0.1, NAN, INFINITY, -INFINITY, 1e-300},
          .loss_counts = {4, 5, 6, 7, 8},
          .best = {.value = 0.1 + 0.2,
                   .step = 10,
                   .worse = 1,
                   .metric = "accuracy"},
          .early_stop = {.value = {}, .step = 0, .worse = 3},
          .last_eval = 12,
          .raw_evaluation = {{"loss", NAN}},
          .skips = {{3, 4}},
          .config = "seed: 3\n",
          .train_data = DataSum{.samples = 7,
                                .looked_at = 5,
                                .sum = ~uint64_t{0},
                                .files = {{"/a.csv", 12, 34}}}};
}

// Through the text that a file holds.
RunRecord again(const RunRecord& record) {
  return read_record(Json::parse(record_json(record).dump()));
}

void expect_same(const Best& a, const Best& b) {
  EXPECT_EQ(a.value, b.value);
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.worse, b.worse);
  EXPECT_EQ(a.metric, b.metric);
}

TEST(RunRecord, ReadsBackWhatWasWritten) {
  RunRecord from = sample(), to = again(from);
  EXPECT_EQ(to.step, from.step);
  EXPECT_EQ(to.position, from.position);
  EXPECT_EQ(to.time_s, from.time_s);
  EXPECT_EQ(to.loss_counts, from.loss_counts);
  EXPECT_EQ(to.last_eval, from.last_eval);
  expect_same(to.best, from.best);
  expect_same(to.early_stop, from.early_stop);
  EXPECT_EQ(to.raw_evaluation.at(0).first, "loss");
  EXPECT_EQ(to.skips, from.skips);
  EXPECT_EQ(to.config, from.config);
  EXPECT_EQ(to.train_data, from.train_data);
  EXPECT_FALSE(to.eval_data);
}

// What checkpoints of earlier versions do not have.
TEST(RunRecord, ReadsARecordWithoutWhatCameLater) {
  Json json = record_json(sample());
  for (std::string_view key : kLater) json.erase(std::string(key));
  json["best"].erase("metric");
  RunRecord to = read_record(json);
  EXPECT_EQ(to.step, 12);
  EXPECT_EQ(to.best.metric, "");
  EXPECT_EQ(to.config, "");
  EXPECT_FALSE(to.train_data);
}

TEST(RunRecord, KeepsNumbersThatAreNotFinite) {
  RunRecord to = again(sample());
  ASSERT_EQ(to.loss_sums.size(), 5u);
  EXPECT_EQ(to.loss_sums[0], 0.1);
  EXPECT_TRUE(std::isnan(to.loss_sums[1]));
  EXPECT_EQ(to.loss_sums[2], INFINITY);
  EXPECT_EQ(to.loss_sums[3], -INFINITY);
  EXPECT_EQ(to.loss_sums[4], 1e-300);
}

TEST(RunRecord, AnEmptyOneIsTheBeginning) {
  RunRecord to = again({});
  EXPECT_EQ(to.step, 0);
  EXPECT_EQ(to.position, data::Position{});
  EXPECT_FALSE(to.best.value);
  EXPECT_TRUE(to.loss_sums.empty());
}

TEST(RunRecord, WhatIsMissingOrOfAnotherKindIsAnError) {
  Json whole = record_json(sample());
  for (const auto& [key, unused] : whole.items()) {
    Json part = whole;
    if (std::ranges::count(kLater, key) == 0) {
      part.erase(key);
      EXPECT_THROW(read_record(part), std::runtime_error) << "without " << key;
    }
    part[key] = key == "config" ? Json(3) : Json("text");
    EXPECT_THROW(read_record(part), std::runtime_error) << key << " is a text";
  }
  EXPECT_THROW(read_record(Json()), std::runtime_error);
  EXPECT_THROW(read_record(Json::array()), std::runtime_error);
  Json wrong = whole;
  wrong["loss_sums"] = {1, "many"};
  EXPECT_THROW(read_record(wrong), std::runtime_error);
}

TEST(Best, TheFirstFiniteNumberIsTheBest) {
  Best best;
  EXPECT_FALSE(best.observe(NAN, 1, false));
  EXPECT_FALSE(best.observe(-INFINITY, 2, false));
  EXPECT_EQ(best.worse, 2);
  EXPECT_TRUE(best.observe(5, 3, false));
  EXPECT_EQ(best.value, 5);
  EXPECT_EQ(best.step, 3);
  EXPECT_EQ(best.worse, 0);
}

TEST(Best, FollowsItsDirection) {
  Best low, high;
  for (double number : {3.0, 1.0, 2.0}) {
    low.observe(number, static_cast<int64_t>(number), false);
    high.observe(number, static_cast<int64_t>(number), true);
  }
  EXPECT_EQ(low.value, 1);
  EXPECT_EQ(low.step, 1);
  EXPECT_EQ(low.worse, 1);
  EXPECT_EQ(high.value, 3);
  EXPECT_EQ(high.worse, 2);
}

TEST(Best, EqualAndLessThanTheDeltaIsNotBetter) {
  Best best;
  best.observe(1, 1, false, 0.1);
  EXPECT_FALSE(best.observe(1, 2, false, 0.1));
  EXPECT_FALSE(best.observe(0.95, 3, false, 0.1));
  EXPECT_EQ(best.value, 1);  // small gains do not move the mark
  EXPECT_EQ(best.worse, 2);
  EXPECT_TRUE(best.observe(0.85, 4, false, 0.1));
  EXPECT_EQ(best.worse, 0);
}

}  // namespace
}  // namespace braid::train
