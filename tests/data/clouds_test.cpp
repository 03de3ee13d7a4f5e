#include <array>
#include <cmath>
#include <set>

#include "braid/data/cloud_file.h"
#include "data/files.h"

namespace braid::data {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

// Cloud c of a class has the points (p, 10 c, class).
std::string cloud_text(int points, int cloud, int label) {
  std::string text;
  for (int p = 0; p < points; ++p) {
    text += fmt::format("{}.5 {} {}\n", p, 10 * cloud, label);
  }
  return text;
}

std::string seg_text(int points, int parts, int first = 1) {
  std::string text;
  for (int p = 0; p < points; ++p) {
    text += fmt::format("{}\n", first + p % parts);
  }
  return text;
}

class Clouds : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    fs::path path = scratch_.path() / name;
    fs::create_directories(path.parent_path());
    write_text(path, text);
  }
  // Two classes as ShapeNet part has them, with 3 and 2 clouds.
  void write_shapes() {
    for (int c = 0; c < 3; ++c) {
      write(fmt::format("chair/points/{}.pts", c), cloud_text(20, c, 1));
      write(fmt::format("chair/points_label/{}.seg", c), seg_text(20, 2));
    }
    for (int c = 0; c < 2; ++c) {
      write(fmt::format("lamp/points/{}.pts", c), cloud_text(30, c, 2));
      write(fmt::format("lamp/points_label/{}.seg", c), seg_text(30, 3));
    }
    write("list/names.json", "[]");  // a folder without clouds
    write("synsets.txt", "chair 1\n");
  }
  DatasetPtr open(Texts texts = {}, const Opening& opening = {}) {
    texts.emplace("folder", ".");
    texts.emplace("points", "8");
    return open_source("clouds", texts, scratch_.path(), opening);
  }
  std::string refused(const Texts& texts = {}, const Opening& opening = {}) {
    return error_of<std::runtime_error>([&] { open(texts, opening); });
  }
  ScratchDirectory scratch_;
};

TEST_F(Clouds, AreClassesByFolder) {
  write_shapes();
  DatasetPtr data = open({{"normalise", "false"}});
  EXPECT_EQ(data->size(), 5);
  EXPECT_EQ(data->fields(), (std::vector<Field>{{"x", DType::kFloat32, {3, 8}},
                                                {"y", DType::kInt64, {}, 2}}));
  EXPECT_EQ(data->fields()[1].class_names, (Names{"chair", "lamp"}));
  for (int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(label_of(*data, i), i < 3 ? 0 : 1);
    std::vector<float> x = values_of<float>(*data, i, 0);
    std::set<float> different(x.begin(), x.begin() + 8);
    EXPECT_EQ(different.size(), 8u);  // no point twice while there are enough
    for (size_t p = 0; p < 8; ++p) {
      EXPECT_EQ(x[p] - std::floor(x[p]), 0.5);
      EXPECT_EQ(x[8 + p], static_cast<float>(10 * (i < 3 ? i : i - 3)));
      EXPECT_EQ(x[16 + p], i < 3 ? 1 : 2);
    }
  }
}

TEST_F(Clouds, PointsKeepTheirLabels) {
  write_shapes();
  DatasetPtr data = open({{"normalise", "false"}, {"labels", "points"}});
  EXPECT_EQ(data->fields()[1], (Field{"y", DType::kInt64, {8}, 5}));
  EXPECT_EQ(data->fields()[1].class_names,
            (Names{"chair/1", "chair/2", "lamp/1", "lamp/2", "lamp/3"}));
  for (int64_t i = 0; i < 5; ++i) {
    std::vector<float> x = values_of<float>(*data, i, 0);
    std::vector<int64_t> y = values_of<int64_t>(*data, i, 1);
    for (size_t p = 0; p < 8; ++p) {
      auto point = static_cast<int64_t>(x[p]);
      EXPECT_EQ(y[p], i < 3 ? point % 2 : 2 + point % 3);
    }
  }
}

TEST_F(Clouds, DrawingsAreOfTheCloudAndTheSeed) {
  write_shapes();
  DatasetPtr all = open(), again = open(), other = open({{"seed", "1"}});
  DatasetPtr lamps = open({{"classes", "[lamp]"}});
  EXPECT_EQ(sample_of(*all, 3), sample_of(*again, 3));
  EXPECT_NE(sample_of(*all, 3), sample_of(*other, 3));
  EXPECT_EQ(values_of<float>(*all, 3, 0), values_of<float>(*lamps, 0, 0));
  EXPECT_EQ(sample_of(*all, 3, {.seed = 5, .epoch = 7}), sample_of(*all, 3));
  EXPECT_EQ(open({{"limit", "4"}})->size(), 4);
}

TEST_F(Clouds, SmallOnesRepeatPoints) {
  write("a/one.pts", "1 2 3\n4 5 6\n");
  DatasetPtr data = open({{"normalise", "false"}});
  std::vector<float> x = values_of<float>(*data, 0, 0);
  std::set<float> different(x.begin(), x.begin() + 8);
  EXPECT_EQ(different, (std::set<float>{1, 4}));
}

TEST_F(Clouds, AreMovedAndScaled) {
  write("a/one.pts", "10 0 0\n14 0 0\n12 2 0\n12 -2 1\n");
  DatasetPtr data = open({{"points", "4"}});
  std::vector<float> x = values_of<float>(*data, 0, 0);
  double most = 0;
  std::array<double, 3> middle = {};
  for (size_t p = 0; p < 4; ++p) {
    double sum = 0;
    for (size_t i = 0; i < 3; ++i) {
      middle[i] += x[4 * i + p];
      sum += x[4 * i + p] * x[4 * i + p];
    }
    most = std::max(most, std::sqrt(sum));
  }
  EXPECT_NEAR(most, 1, 1e-6);
  for (double value : middle) EXPECT_NEAR(value, 0, 1e-6);
  write("a/one.pts", "5 5 5\n");  // nothing to divide by
  EXPECT_EQ(values_of<float>(*open(), 0, 0), std::vector<float>(24, 0));
}

TEST_F(Clouds, AListSaysWhich) {
  write_shapes();
  write("train.json", "[\"shape_data/chair/2\", \"shape_data/lamp/0\"]");
  write("test.txt", "chair/0.pts\r\nlamp/1.pts\n\n");
  DatasetPtr train = open({{"list", "train.json"}, {"normalise", "false"}});
  ASSERT_EQ(train->size(), 2);
  EXPECT_EQ(values_of<float>(*train, 0, 0)[8], 20);
  EXPECT_EQ(label_of(*train, 1), 1);
  DatasetPtr test = open({{"list", "test.txt"}, {"normalise", "false"}});
  ASSERT_EQ(test->size(), 2);
  EXPECT_EQ(values_of<float>(*test, 1, 0)[8], 10);
  write("bad.json", "[1, 2]");
  expect_contains(refused({{"list", "bad.json"}}), "a list of names");
  write("none.txt", "table/1\n");
  expect_contains(refused({{"list", "none.txt"}}), "got none of them");
}

// A test list may lack parts that training has.
TEST_F(Clouds, PartsAreNumberedAsInTraining) {
  write_shapes();
  Texts texts = {{"labels", "points"}, {"classes", "[chair]"}};
  DatasetPtr train = open(texts);
  Opening opening{.known = &train->fields()};
  for (int c = 0; c < 3; ++c) {
    write(fmt::format("chair/points_label/{}.seg", c), seg_text(20, 1, 2));
  }
  DatasetPtr test = open(texts, opening);
  EXPECT_EQ(values_of<int64_t>(*test, 0, 1), std::vector<int64_t>(8, 1));
  EXPECT_EQ(test->fields()[1].classes, 2);
  for (int c = 0; c < 3; ++c) {
    write(fmt::format("chair/points_label/{}.seg", c), seg_text(20, 1, 9));
  }
  expect_contains(refused(texts, opening), "got 9 of 'chair'");
}

TEST_F(Clouds, WhatIsWrongHasItsLine) {
  for (auto [text, words] : std::vector<std::pair<std::string, std::string>>{
           {"1 2\n", "got '1 2' "},
           {"1 2 3\n\n1 x 3\n", "line 3)"},
           {"1 2 nan\n", "got '1 2 nan'"},
           {"1 2 3x\n", "a point as 'x y z'"},
           {"1e99 2 3\n", "a point as"},
           {"", "expected points, got none"},
           {"12\n", "expected points, got none"}}) {
    write("a/one.pts", text);
    expect_contains(refused(), words);
    expect_contains(refused(), "one.pts");
  }
  write("a/one.pts", "2\n1 2 3 0.1 0.2\n4,5,6\r\n");  // counted, with more
  EXPECT_EQ(open()->size(), 1);
  expect_contains(refused({{"labels", "points"}}), "one.seg");
  write("a/one.seg", "1\n");
  expect_contains(refused({{"labels", "points"}}), "expected 2 labels");
  write("a/one.seg", "1\n2.5\n");
  expect_contains(refused({{"labels", "points"}}), "line 2)");
  expect_contains(refused({{"classes", "[aa]"}}), "did you mean 'a'?");
  expect_contains(refused({{"folder", "a"}}), "for every class, got none");
}

TEST(CloudsHostile, Changes) {
  ScratchDirectory scratch(io::fast_parent());
  fs::create_directories(scratch.path() / "a");
  const std::string good = "3\n1 2 3\n-4.5 5e1 6\n";
  for (size_t at = 0; at < good.size(); ++at) {
    for (char mask : {'\x01', '\x10', '\x80', '\xFF'}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ mask);
      write_text(scratch.path() / "a" / "c.pts", bad);
      try {
        open_and_read("clouds", {{"folder", "."}, {"points", "4"}}, scratch);
      } catch (const std::runtime_error&) {
      }
    }
  }
}

}  // namespace
}  // namespace braid::data
