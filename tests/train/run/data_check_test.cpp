#include "braid/train/run/data_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "io/scratch.h"
#include "passes/text_graphs.h"
#include "train/small_data.h"

namespace braid::train {
namespace {

using io::error_of;
using io::expect_contains;
using passes::graph_of;

// x f32 [2] and y i64 from lists; `is_checked` claims that all is well.
class ListedData : public data::Dataset {
 public:
  ListedData(std::vector<float> x, std::vector<int64_t> y, int64_t classes = 0,
             bool is_checked = false)
      : Dataset("list",
                {{"x", DType::kFloat32, {2}, 0, is_checked},
                 {"y", DType::kInt64, {}, classes, is_checked}},
                static_cast<int64_t>(y.size())),
        x_(std::move(x)),
        y_(std::move(y)) {}

  void read(int64_t index, const data::Draw&,
            std::span<std::byte* const> out) const override {
    auto row = static_cast<size_t>(index);
    std::memcpy(out[0], x_.data() + 2 * row, 8);
    std::memcpy(out[1], y_.data() + row, 8);
    ++reads;
  }

  mutable int reads = 0;

 private:
  std::vector<float> x_;
  std::vector<int64_t> y_;
};

std::string itself(const std::string& field) { return field; }

ModelInputs inputs_of(const char* graph) {
  ModelInputs inputs;
  add_inputs(inputs, graph_of(graph));
  return inputs;
}

// Two classes.
const char* const kModel = R"(
  input %0 "x" f32[4, 2]
  input %1 "y" i64[4]
  %3: f32[], %4: f32[4], %5: f32[] = cross_entropy_loss(%0, %1)
  output "loss" %3
)";

DataCheck check(const data::Dataset& dataset,
                NonFinite non_finite = NonFinite::kRefuse,
                const CheckLimits& limits = kQuickCheck) {
  return check_values(dataset, inputs_of(kModel), itself, non_finite, limits);
}

std::string refused(const data::Dataset& dataset,
                    NonFinite non_finite = NonFinite::kRefuse) {
  return error_of<std::runtime_error>([&] { check(dataset, non_finite); });
}

const std::vector<float> kFine{0, 1, 2, 3, 4, 5};

TEST(DataCheck, FineSamplesAreCounted) {
  ListedData data(kFine, {0, 1, -100});
  DataCheck done = check(data);
  EXPECT_EQ(done.samples, 3);
  EXPECT_EQ(done.note, "");
  EXPECT_EQ(checked_text(done), "all 3 samples");
}

TEST(DataCheck, ClassesThatTheModelDoesNotHaveAreRefused) {
  for (int64_t label : {2L, -1L, -99L, std::numeric_limits<int64_t>::max(),
                        std::numeric_limits<int64_t>::min()}) {
    ListedData data(kFine, {0, label, label});
    std::string text = refused(data);
    expect_contains(text,
                    fmt::format("[data] the data hold what cannot be "
                                "learned from (all 3 samples were looked at):"
                                "\n  field "
                                "'y': row 1 of list holds {}, expected 0 "
                                "to 1 or -100 (and 1 more)",
                                label));
    expect_contains(text, "HINT: ");
  }
}

TEST(DataCheck, FloatsThatAreNotFiniteAreRefused) {
  for (float wrong : {NAN, -NAN, INFINITY, -INFINITY}) {
    ListedData data({0, 1, 2, wrong, 4, 5}, {0, 1, 0});
    std::string text = refused(data);
    expect_contains(text, "field 'x': row 1 of list holds ");
    expect_contains(text, "allow_nan: true");
  }
  float largest = std::numeric_limits<float>::max();
  float least = std::numeric_limits<float>::denorm_min();
  EXPECT_NO_THROW(check(ListedData({largest, -largest, least, -0.0F}, {0, 1})));
}

TEST(DataCheck, FloatsThatAreNotFiniteMayBeNotedOrAllowed) {
  ListedData data({NAN, 1, 2, 3, 4, NAN}, {0, 1, 0});
  expect_contains(check(data, NonFinite::kNote).note,
                  "field 'x': row 0 of list holds nan (and 1 more)");
  EXPECT_EQ(check(data, NonFinite::kAllow).note, "");
  ListedData wrong({NAN, 1}, {7});
  EXPECT_EQ(refused(wrong, NonFinite::kNote).find("nan"), std::string::npos);
  expect_contains(refused(wrong, NonFinite::kAllow), "holds 7");
}

TEST(DataCheck, TheLimitsAreKeptAndSaid) {
  ListedData late({0, 1, 2, 3, NAN, 5}, {0, 1, 0});
  // Three values a sample.
  for (const CheckLimits& limits :
       {CheckLimits{2, 100}, CheckLimits{100, 6}, CheckLimits{100, 8}}) {
    late.reads = 0;
    DataCheck done = check(late, NonFinite::kRefuse, limits);
    EXPECT_EQ(late.reads, 2);
    EXPECT_EQ(checked_text(done), "the first 2 of 3 samples");
  }
  EXPECT_EQ(check(late, NonFinite::kRefuse, {100, 1}).samples, 1);
  EXPECT_THROW(check(late, NonFinite::kRefuse, {3, 9}), std::runtime_error);
}

TEST(DataCheck, WhatIsKnownIsNotReadAgain) {
  ListedData known(kFine, {0, 1, 0}, 2, true);
  EXPECT_EQ(check(known).samples, 0);
  EXPECT_EQ(known.reads, 0);
  ListedData more(kFine, {0, 1, 2}, 3, true);  // than the model has
  EXPECT_THROW(check(more), std::runtime_error);
  ListedData unknown(kFine, {0, 1, -2}, 0, true);  // no classes
  EXPECT_THROW(check(unknown), std::runtime_error);
}

TEST(DataCheck, FieldsThatNothingReadsMayHoldAnything) {
  ListedData data({NAN, NAN}, {-5});
  ModelInputs none;
  EXPECT_NO_THROW(
      check_values(data, none, itself, NonFinite::kRefuse, kQuickCheck));
  ModelInputs other{{"z", std::nullopt}};
  auto renamed = [](const std::string& f) { return f == "x" ? "z" : f; };
  EXPECT_THROW(
      check_values(data, other, renamed, NonFinite::kRefuse, kQuickCheck),
      std::runtime_error);
}

TEST(DataCheck, DoublesAreLookedAtToo) {
  class Doubles : public data::Dataset {
   public:
    Doubles() : Dataset("doubles", {{"x", DType::kFloat64, {}}}, 2) {}
    void read(int64_t index, const data::Draw&,
              std::span<std::byte* const> out) const override {
      double x = index == 1 ? std::numeric_limits<double>::infinity() : 1e300;
      std::memcpy(out[0], &x, sizeof x);
    }
  };
  ModelInputs inputs{{"x", std::nullopt}};
  std::string text = error_of<std::runtime_error>([&] {
    check_values(Doubles(), inputs, itself, NonFinite::kRefuse, kQuickCheck);
  });
  expect_contains(text, "row 1 of doubles holds inf");
}

// Tokens that are embedded and also what is to be said: the narrower counts,
// and -100 is no row of a table.
TEST(DataCheck, AnIndexHasToSuitAllThatReadIt) {
  ModelInputs inputs = inputs_of(R"(
    slot "table" f32[5, 3] parameter constant(0.0)
    input %0 "y" i64[4]
    %1: f32[5, 3] = read "table"
    %2: f32[4, 3] = embedding(%1, %0)
    %3: f32[], %4: f32[4], %5: f32[] = cross_entropy_loss(%2, %0)
    output "loss" %3
  )");
  ASSERT_TRUE(inputs.at("y"));
  EXPECT_EQ(inputs.at("y")->size, 3);
  EXPECT_EQ(inputs.at("y")->ignored, std::nullopt);
  add_inputs(inputs, graph_of(kModel));
  EXPECT_EQ(inputs.at("y")->size, 2);
  EXPECT_TRUE(inputs.contains("x"));
}

TEST(DataCheck, TheFirstOutsideIsFound) {
  ListedData data(kFine, {0, 3, 4}, 5, true);
  EXPECT_EQ(first_outside(data, 1, {3, -100}, kQuickCheck),
            "row 1 of list holds 3, expected 0 to 2 or -100");
  EXPECT_EQ(first_outside(data, 1, {5, {}}, kQuickCheck), "");
}

}  // namespace
}  // namespace braid::train
