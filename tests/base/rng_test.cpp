#include "braid/base/rng.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace braid {
namespace {

constexpr uint64_t kOnes = ~uint64_t{0};

void expect_words(RandomBlock block, std::vector<uint32_t> words) {
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(block.word[i], words[i]) << i;
}

struct Moments {
  double mean = 0;
  double variance = 0;
};

Moments moments(const std::vector<double>& sample) {
  Moments m;
  auto count = static_cast<double>(sample.size());
  for (double x : sample) m.mean += x / count;
  for (double x : sample) m.variance += (x - m.mean) * (x - m.mean) / count;
  return m;
}

template <class Draw>
std::vector<double> draws(Draw draw) {
  std::vector<double> sample;
  for (uint64_t i = 0; i < 200000; ++i) sample.push_back(draw(i));
  return sample;
}

// The known answers of the Random123 library.
TEST(RngTest, PhiloxGivesTheKnownAnswers) {
  expect_words(philox(0, 0, 0),
               {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  expect_words(philox(kOnes, kOnes, kOnes),
               {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  expect_words(
      philox(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e),
      {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST(RngTest, HashIsFnv1a) {
  EXPECT_EQ(stable_hash(""), 0xcbf29ce484222325ull);
  EXPECT_EQ(stable_hash("a"), 0xaf63dc4c8601ec8cull);
  EXPECT_EQ(stable_hash("foobar"), 0x85944171f73967e8ull);
  EXPECT_EQ(stable_hash("\xff"), 0xaf64724c8602eb6eull);
}

TEST(RngTest, MixIsSplitmix64) {
  EXPECT_EQ(mix_bits(0, 0), 0xe220a8397b1dcdafull);
  EXPECT_EQ(mix_bits(0, 1), 0x6e789e6aa1b965f4ull);
  EXPECT_NE(mix_bits(1, 2), mix_bits(2, 1));
}

TEST(RngTest, UnitIntervalStaysBelowOne) {
  EXPECT_EQ(unit_interval(0), 0.0);
  EXPECT_EQ(unit_interval(0x80000000), 0.5);
  EXPECT_LT(unit_interval(0xffffffff), 1.0);
}

TEST(RngTest, DrawKeySeparatesSeedNodeStepAndMicroBatch) {
  DrawKey key = draw_key(1, 2, 3, 4);
  EXPECT_EQ(key.moment, 0x30004u);
  EXPECT_EQ(key.key, draw_key(1, 2, 9, 9).key);
  EXPECT_NE(key.key, draw_key(2, 2, 3, 4).key);
  EXPECT_NE(key.key, draw_key(1, 3, 3, 4).key);
  EXPECT_NE(key.moment, draw_key(1, 2, 4, 4).moment);
  EXPECT_NE(key.moment, draw_key(1, 2, 3, 5).moment);
}

TEST(RngTest, FourElementsShareABlock) {
  DrawKey key = draw_key(1, 2, 3, 4);
  RandomBlock block = philox(key.key, 5, key.moment);
  for (uint64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(draw_uniform(key, 20 + i), unit_interval(block.word[i]));
  }
}

// Bounds of about five standard errors for 200000 draws.
TEST(RngTest, DrawsAreUniform) {
  DrawKey key = draw_key(7, 8, 0, 0);
  std::vector<double> sample =
      draws([&](uint64_t i) { return draw_uniform(key, i); });
  std::vector<double> buckets(16, 0);
  for (double x : sample) {
    ASSERT_GE(x, 0.0);
    ASSERT_LT(x, 1.0);
    ++buckets[static_cast<size_t>(x * 16)];
  }
  for (double count : buckets) EXPECT_NEAR(count, 12500, 550);
  EXPECT_NEAR(moments(sample).mean, 0.5, 0.0033);
}

TEST(RngTest, ElementUniformsAreUniform) {
  ElementRandom random(1, "fc.weight");
  std::vector<double> sample =
      draws([&](uint64_t i) { return random.uniform(i); });
  for (double x : sample) ASSERT_TRUE(x >= 0 && x < 1) << x;
  EXPECT_NEAR(moments(sample).mean, 0.5, 0.0033);
  EXPECT_NEAR(moments(sample).variance, 1.0 / 12, 0.0009);
}

TEST(RngTest, ElementNormalsAreNormal) {
  ElementRandom random(1, "fc.weight");
  std::vector<double> sample =
      draws([&](uint64_t i) { return random.normal(i); });
  double outside = 0;
  for (double x : sample) {
    ASSERT_TRUE(std::isfinite(x));
    if (std::abs(x) > 1.959964) ++outside;
  }
  EXPECT_NEAR(moments(sample).mean, 0, 0.0112);
  EXPECT_NEAR(moments(sample).variance, 1, 0.016);
  EXPECT_NEAR(outside / 200000, 0.05, 0.0025);
}

TEST(RngTest, SeedsAndNamesGiveUnrelatedNumbers) {
  ElementRandom base(1, "a"), other_seed(2, "a"), other_name(1, "b");
  double seeds = 0, names = 0;
  for (uint64_t i = 0; i < 200000; ++i) {
    seeds += base.normal(i) * other_seed.normal(i) / 200000;
    names += base.normal(i) * other_name.normal(i) / 200000;
  }
  EXPECT_NEAR(seeds, 0, 0.0112);
  EXPECT_NEAR(names, 0, 0.0112);
}

// Whole blocks, parts of them, and counters of more than 32 bits.
TEST(RngTest, NumbersOfManyElementsAreThoseOfEach) {
  ElementRandom random(9, "w");
  for (uint64_t first : {uint64_t{0}, uint64_t{7}, (uint64_t{1} << 32) - 5}) {
    std::vector<double> uniforms(77), normals(77);
    random.uniforms(uniforms, first);
    random.normals(normals, first);
    for (size_t i = 0; i < uniforms.size(); ++i) {
      ASSERT_EQ(uniforms[i], random.uniform(first + i));
      ASSERT_EQ(normals[i], random.normal(first + i));
    }
  }
}

TEST(RngTest, ElementsDoNotDependOnWhoAsks) {
  EXPECT_EQ(ElementRandom(3, "w").normal(17), ElementRandom(3, "w").normal(17));
  EXPECT_NE(ElementRandom(3, "w").normal(17), ElementRandom(3, "w").normal(18));
}

}  // namespace
}  // namespace braid
