#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "braid/data/solid_shapes.h"
#include "data/samples.h"

namespace braid::data {
namespace {

TEST(Solids, AreCloudsWithLabels) {
  DatasetPtr data = open_source("solids", {{"count", "20"}, {"points", "64"}});
  EXPECT_EQ(data->size(), 20);
  EXPECT_EQ(data->fields(), (std::vector<Field>{{"x", DType::kFloat32, {3, 64}},
                                                {"y", DType::kInt64, {}, 8}}));
  for (int64_t i = 0; i < 20; ++i) EXPECT_EQ(label_of(*data, i), i % 8);
}

TEST(Solids, LieInTheUnitSphere) {
  DatasetPtr data = open_source("solids", {{"points", "100"}, {"turn", "any"}});
  for (int64_t i = 0; i < 16; ++i) {
    std::vector<float> x = values_of<float>(*data, i, 0);
    float farthest = 0, sum = 0;
    for (size_t p = 0; p < 100; ++p) {
      farthest = std::max(farthest, std::hypot(x[p], x[100 + p], x[200 + p]));
    }
    for (float number : x) sum += number;
    EXPECT_NEAR(farthest, 1, 1e-5);
    EXPECT_NEAR(sum, 0, 1e-3);
  }
}

TEST(Solids, AreTheSameWheneverReadAndDifferOtherwise) {
  auto x = [](const Texts& texts, int64_t index) {
    return values_of<float>(*open_source("solids", texts), index, 0);
  };
  EXPECT_EQ(x({}, 5), x({}, 5));
  std::set<std::vector<float>> all = {
      x({}, 5), x({}, 13), x({{"part", "test"}}, 5), x({{"seed", "1"}}, 5),
      x({{"turn", "any"}}, 5)};
  EXPECT_EQ(all.size(), 5U);
}

TEST(Solids, CanLabelPoints) {
  DatasetPtr data = open_source(
      "solids", {{"labels", "points"}, {"points", "40"}, {"classes", "5"}});
  EXPECT_EQ(data->fields()[1], (Field{"y", DType::kInt64, {40}, 5}));
  for (int64_t i = 0; i < 50; ++i) {
    std::map<int64_t, int> counts;
    for (int64_t label : values_of<int64_t>(*data, i, 1)) ++counts[label];
    ASSERT_EQ(counts.size(), 2U);
    for (auto [label, count] : counts) {
      EXPECT_EQ(count, 20);
      EXPECT_GE(label, 0);
      EXPECT_LT(label, 5);
    }
    EXPECT_TRUE(counts.contains(i % 5));
  }
}

// Two solids of a cloud do not touch, so labels can be learned from places.
TEST(Solids, OfACloudLieApart) {
  DatasetPtr data = open_source(
      "solids", {{"labels", "points"}, {"points", "200"}, {"noise", "0"}});
  for (int64_t i = 0; i < 20; ++i) {
    std::vector<float> x = values_of<float>(*data, i, 0);
    std::vector<int64_t> y = values_of<int64_t>(*data, i, 1);
    float nearest = 10;
    for (size_t a = 0; a < 200; ++a) {
      for (size_t b = 0; b < a; ++b) {
        if (y[a] == y[b]) continue;
        nearest =
            std::min(nearest, std::hypot(x[a] - x[b], x[200 + a] - x[200 + b],
                                         x[400 + a] - x[400 + b]));
      }
    }
    EXPECT_GT(nearest, 0.02) << i;
  }
}

double away(int64_t kind, Vector p) {
  std::string_view name = solid_name(kind);
  double ring = std::hypot(p.x, p.y);
  if (name == "sphere") return std::hypot(p.x, p.y, p.z) - 1;
  if (name == "cube") {
    return std::max({std::abs(p.x), std::abs(p.y), std::abs(p.z)}) - 1;
  }
  if (name == "cylinder") return std::max(ring, std::abs(p.z)) - 1;
  if (name == "cone") return std::max(ring - (1 - p.z) / 2, -1 - p.z);
  if (name == "torus") return std::hypot(ring - 1, p.z) - 0.4;
  if (name == "pyramid") {
    double side = std::max(std::abs(p.x), std::abs(p.y));
    return std::max(side - (1 - p.z) / 2, -1 - p.z);
  }
  if (name == "capsule") {
    double z = std::max(std::abs(p.z) - 1, 0.0);
    return std::hypot(ring, z) - 0.5;
  }
  // The tetrahedron: four planes at distance 1 / sqrt(3).
  return std::max({-p.x - p.y - p.z, -p.x + p.y + p.z, p.x - p.y + p.z,
                   p.x + p.y - p.z}) -
         1;
}

TEST(SolidShapes, HavePointsOnTheirSurface) {
  SampleRandom random(1, "test", 0);
  for (int64_t kind = 0; kind < kNumSolids; ++kind) {
    for (int i = 0; i < 500; ++i) {
      ASSERT_NEAR(away(kind, solid_point(kind, random)), 0, 1e-9)
          << solid_name(kind);
    }
  }
}

// The share of points in the upper half is that of its area.
TEST(SolidShapes, SpreadPointsByArea) {
  double s = std::sqrt(5.0);
  std::map<std::string_view, double> upper = {
      {"sphere", 0.5},   {"cube", 0.5},
      {"cylinder", 0.5}, {"cone", s / 4 / (s + 1)},
      {"torus", 0.5},    {"pyramid", s / 4 / (s + 1)},
      {"capsule", 0.5},  {"tetrahedron", 0.5}};
  SampleRandom random(1, "test", 0);
  for (int64_t kind = 0; kind < kNumSolids; ++kind) {
    int count = 0;
    for (int i = 0; i < 20000; ++i) count += solid_point(kind, random).z > 0;
    EXPECT_NEAR(count / 20000.0, upper.at(solid_name(kind)), 0.015)
        << solid_name(kind);
  }
}

TEST(Solids, RefuseWhatIsNotThere) {
  for (const Texts& texts :
       std::vector<Texts>{{{"classes", "9"}},
                          {{"classes", "1"}, {"labels", "points"}},
                          {{"noise", "-1"}},
                          {{"points", "0"}}}) {
    EXPECT_THROW(open_source("solids", texts), std::invalid_argument);
  }
}

}  // namespace
}  // namespace braid::data
