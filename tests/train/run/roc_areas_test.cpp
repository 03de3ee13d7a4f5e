#include "braid/train/run/roc_areas.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace braid::train {
namespace {

struct Scored {
  double score;
  bool is_positive;
};

// By its definition, over all pairs.
double area_of_pairs(const std::vector<Scored>& scored) {
  double wins = 0, pairs = 0;
  for (const Scored& a : scored) {
    for (const Scored& b : scored) {
      if (!a.is_positive || b.is_positive) continue;
      ++pairs;
      wins += a.score > b.score ? 1 : a.score == b.score ? 0.5 : 0;
    }
  }
  return wins / pairs;
}

double area_of(const std::vector<Scored>& scored, int64_t most_held) {
  RocAreas areas(1, most_held);
  for (const auto& [score, is_positive] : scored) {
    areas.add(0, score, is_positive);
  }
  return areas.area(0);
}

std::vector<Scored> random_scores(int count, int values, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Scored> scored;
  for (int i = 0; i < count; ++i) {
    auto score = static_cast<double>(random() % static_cast<unsigned>(values));
    scored.push_back({score - values / 2.0, random() % 3 == 0});
  }
  scored.push_back({0, true});
  scored.push_back({-1, false});
  return scored;
}

TEST(RocAreas, AreSharesOfPairsWithTiesAsHalves) {
  EXPECT_EQ(area_of({{1, true}, {0, false}}, 99), 1);
  EXPECT_EQ(area_of({{0, true}, {1, false}}, 99), 0);
  EXPECT_EQ(area_of({{0, true}, {0.0, false}, {-0.0, false}}, 99), 0.5);
  EXPECT_EQ(area_of({{INFINITY, true}, {-INFINITY, false}}, 99), 1);
  for (unsigned seed : {1u, 2u, 3u}) {
    for (int values : {2, 7, 1000}) {
      auto scored = random_scores(200, values, seed);
      EXPECT_DOUBLE_EQ(area_of(scored, 1 << 20), area_of_pairs(scored));
    }
  }
}

// Runs of scores on the disk, some shorter than what is read at once and some
// longer.
TEST(RocAreas, AreTheSameWhateverGoesToTheDisk) {
  auto scored = random_scores(30000, 5000, 4);
  double whole = area_of(scored, 1 << 20);
  for (int64_t most_held : {1000, 4000, 29999, 30002}) {
    EXPECT_EQ(area_of(scored, most_held), whole) << most_held;
  }
  auto few = random_scores(300, 20, 5);
  EXPECT_DOUBLE_EQ(area_of(few, 1), area_of_pairs(few));
  EXPECT_DOUBLE_EQ(area_of(few, 7), area_of_pairs(few));
}

TEST(RocAreas, CurvesAreApart) {
  RocAreas areas(2, 3);
  for (int i = 0; i < 10; ++i) {
    areas.add(0, i, i >= 5);
    areas.add(1, i, i < 5);
  }
  EXPECT_EQ(areas.area(0), 1);
  EXPECT_EQ(areas.area(1), 0);
  EXPECT_EQ(areas.mean_area(), 0.5);
  EXPECT_EQ(areas.area(0), 1) << "asked again";
}

TEST(RocAreas, AreUndefinedWithoutBothKinds) {
  EXPECT_TRUE(std::isnan(area_of({}, 9)));
  EXPECT_TRUE(std::isnan(area_of({{1, true}, {2, true}}, 9)));
  EXPECT_TRUE(std::isnan(area_of({{1, false}}, 9)));
  EXPECT_TRUE(std::isnan(area_of({{1, false}, {NAN, true}, {2, true}}, 9)));
  RocAreas areas(2);
  areas.add(0, 1, true);
  areas.add(0, 0, false);
  areas.add(1, 0, false);
  EXPECT_TRUE(std::isnan(areas.mean_area()));
}

}  // namespace
}  // namespace braid::train
