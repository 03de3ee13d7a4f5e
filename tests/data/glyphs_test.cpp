#include <algorithm>
#include <cmath>
#include <set>

#include "data/samples.h"

namespace braid::data {
namespace {

std::vector<float> image(const Dataset& glyphs, int64_t index) {
  return values_of<float>(glyphs, index, 0);
}

TEST(Glyphs, AreImagesWithLabels) {
  DatasetPtr glyphs = open_source("glyphs", {{"count", "50"}});
  EXPECT_EQ(glyphs->size(), 50);
  EXPECT_EQ(glyphs->fields(),
            (std::vector<Field>{{"x", DType::kFloat32, {1, 28, 28}},
                                {"y", DType::kInt64, {}, 10}}));
  for (int64_t i = 0; i < 50; ++i) {
    EXPECT_EQ(label_of(*glyphs, i), i % 10);
    for (float pixel : image(*glyphs, i)) {
      ASSERT_GE(pixel, 0);
      ASSERT_LE(pixel, 1);
    }
  }
}

TEST(Glyphs, AreTheSameWheneverRead) {
  DatasetPtr a = open_source("glyphs");
  DatasetPtr b = open_source("glyphs", {{"limit", "10"}});
  EXPECT_EQ(b->size(), 10);
  EXPECT_EQ(image(*a, 7), image(*b, 7));
  EXPECT_EQ(sample_of(*a, 7, {1, 1}), sample_of(*a, 7, {2, 2}));
}

TEST(Glyphs, DifferBetweenSamplesSeedsAndParts) {
  DatasetPtr train = open_source("glyphs");
  DatasetPtr test = open_source("glyphs", {{"part", "test"}});
  DatasetPtr other = open_source("glyphs", {{"seed", "1"}});
  std::set<std::vector<float>> images;
  for (int64_t i = 0; i < 100; ++i) {
    for (const DatasetPtr& part : {train, test, other}) {
      images.insert(image(*part, i));
    }
  }
  EXPECT_EQ(images.size(), 300U);
}

double difference(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]);
  return sum;
}

// Without jitter and noise each class has one drawing, all 36 far apart.
TEST(Glyphs, HaveADrawingForEveryClass) {
  DatasetPtr plain = open_source(
      "glyphs", {{"classes", "36"}, {"jitter", "0"}, {"noise", "0"}});
  for (int64_t a = 0; a < 36; ++a) {
    EXPECT_EQ(image(*plain, a), image(*plain, a + 36));
    for (int64_t b = 0; b < a; ++b) {
      EXPECT_GT(difference(image(*plain, a), image(*plain, b)), 12)
          << a << " and " << b;
    }
  }
}

// The nearest plain drawing tells the class of most jittered ones: they are
// still the glyphs, and not all alike.
TEST(Glyphs, StayNearTheirDrawing) {
  DatasetPtr plain = open_source("glyphs", {{"jitter", "0"}, {"noise", "0"}});
  DatasetPtr glyphs = open_source("glyphs", {{"noise", "0.05"}});
  int right = 0;
  for (int64_t i = 0; i < 300; ++i) {
    std::vector<double> apart;
    for (int64_t c = 0; c < 10; ++c) {
      apart.push_back(difference(image(*glyphs, i), image(*plain, c)));
    }
    right += std::ranges::min_element(apart) - apart.begin() == i % 10;
  }
  EXPECT_GT(right, 150);
  EXPECT_LT(right, 300);
}

TEST(Glyphs, HaveAnySize) {
  for (const char* size : {"8", "32", "64"}) {
    DatasetPtr glyphs = open_source("glyphs", {{"size", size}, {"noise", "0"}});
    std::vector<float> pixels = image(*glyphs, 3);
    double ink = 0;
    for (float pixel : pixels) ink += pixel;
    EXPECT_GT(ink / static_cast<double>(pixels.size()), 0.05) << size;
    EXPECT_LT(ink / static_cast<double>(pixels.size()), 0.4) << size;
  }
}

TEST(Glyphs, RefuseWhatCannotBeDrawn) {
  for (const Texts& texts : std::vector<Texts>{{{"classes", "37"}},
                                               {{"size", "4"}},
                                               {{"size", "5000"}},
                                               {{"noise", "-1"}},
                                               {{"jitter", "-1"}},
                                               {{"count", "0"}}}) {
    std::string message =
        error_of<std::invalid_argument>([&] { open_source("glyphs", texts); });
    expect_contains(message, "[data.glyphs] expected ");
  }
}

}  // namespace
}  // namespace braid::data
