#include "braid/data/augment.h"

#include <map>
#include <numeric>
#include <set>

#include "braid/data/loader.h"
#include "data/samples.h"

namespace braid::data {
namespace {

using Pixels = std::vector<float>;

// Two channels of 2 x 3 pixels: 1 to 12, the same for every sample.
class Pictures : public Dataset {
 public:
  explicit Pictures(DType dtype = DType::kFloat32, Shape shape = {2, 2, 3})
      : Dataset("pictures",
                {{"y", DType::kInt64, {}, 9}, {"x", dtype, std::move(shape)}},
                9) {}
  void read(int64_t index, const Draw&,
            std::span<std::byte* const> out) const override {
    std::memcpy(out[0], &index, sizeof index);
    Pixels pixels(12);
    std::iota(pixels.begin(), pixels.end(), 1.0F);
    std::memcpy(out[1], pixels.data(), 12 * sizeof(float));
  }
};

DatasetPtr changed(const Texts& texts) {
  return augment(std::make_shared<Pictures>(), texts);
}

Pixels pixels_of(const DatasetPtr& data, int64_t index, Draw draw = {}) {
  return values_of<float>(*data, index, 1, draw);
}

const Pixels kPlain = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
const Pixels kFlipped = {3, 2, 1, 6, 5, 4, 9, 8, 7, 12, 11, 10};

TEST(Augment, DoesNothingWhenNotAsked) {
  DatasetPtr images = std::make_shared<Pictures>();
  EXPECT_EQ(augment(images, {}), images);
  EXPECT_EQ(augment(images, {{"crop", "0"}, {"flip", "false"}}), images);
}

TEST(Augment, FlipsEveryOtherImage) {
  DatasetPtr data = changed({{"flip", "true"}});
  int flipped = 0;
  for (int64_t epoch = 0; epoch < 1000; ++epoch) {
    Pixels pixels = pixels_of(data, 3, {1, epoch});
    ASSERT_TRUE(pixels == kPlain || pixels == kFlipped);
    flipped += pixels == kFlipped;
  }
  EXPECT_NEAR(flipped, 500, 70);
}

// Where a picture moved by (down, right) comes to lie.
Pixels moved(int down, int right) {
  Pixels out;
  for (int c = 0; c < 2; ++c) {
    for (int y = 0; y < 2; ++y) {
      for (int x = 0; x < 3; ++x) {
        int from_y = y + down, from_x = x + right;
        bool inside = from_y >= 0 && from_y < 2 && from_x >= 0 && from_x < 3;
        out.push_back(
            inside ? static_cast<float>(1 + c * 6 + from_y * 3 + from_x) : 0);
      }
    }
  }
  return out;
}

TEST(Augment, CropsAtEveryPlaceAlike) {
  DatasetPtr data = changed({{"crop", "1"}});
  std::map<Pixels, int> counts;
  for (int64_t epoch = 0; epoch < 1800; ++epoch) {
    ++counts[pixels_of(data, 3, {1, epoch})];
  }
  EXPECT_EQ(counts.size(), 9U);
  for (int down : {-1, 0, 1}) {
    for (int right : {-1, 0, 1}) {
      EXPECT_NEAR(counts[moved(down, right)], 200, 60) << down << " " << right;
    }
  }
}

TEST(Augment, NormalisesPerChannel) {
  DatasetPtr data = changed({{"mean", "[1, 7]"}, {"std", "[2, 4]"}});
  EXPECT_EQ(pixels_of(data, 0),
            (Pixels{0, 0.5, 1, 1.5, 2, 2.5, 0, 0.25, 0.5, 0.75, 1, 1.25}));
  EXPECT_EQ(pixels_of(changed({{"mean", "1"}}), 0)[11], 11);
  EXPECT_EQ(pixels_of(changed({{"std", "2"}}), 0)[11], 6);
}

TEST(Augment, CropsHaveABound) {
  changed({{"crop", "4096"}});
  for (const char* crop : {"4097", "9223372036854775807"}) {
    expect_contains(error_of<std::invalid_argument>([&] {
                      changed({{"crop", crop}});
                    }),
                    "expected a crop of at most 4096 pixels");
  }
}

// What lies outside is black before the mean is taken off.
TEST(Augment, NormalisesAfterItCrops) {
  DatasetPtr data = changed({{"crop", "5"}, {"mean", "100"}});
  std::set<float> seen;
  for (int64_t epoch = 0; epoch < 50; ++epoch) {
    for (float pixel : pixels_of(data, 0, {1, epoch})) seen.insert(pixel);
  }
  EXPECT_TRUE(seen.contains(-100));
  EXPECT_FALSE(seen.contains(0));
}

TEST(Augment, DrawsBySeedEpochAndSample) {
  DatasetPtr data = changed({{"crop", "2"}, {"flip", "true"}});
  auto images = [&](int64_t seed, int64_t epoch) {
    std::vector<Pixels> all;
    for (int64_t i = 0; i < 9; ++i) {
      all.push_back(pixels_of(data, i, {seed, epoch}));
    }
    return all;
  };
  EXPECT_EQ(images(1, 2), images(1, 2));
  EXPECT_NE(images(1, 2), images(1, 3));
  EXPECT_NE(images(1, 2), images(2, 2));
  std::vector<Pixels> one = images(1, 2);
  EXPECT_GT(std::set<Pixels>(one.begin(), one.end()).size(), 3U);
}

// The image of a sample depends on neither threads nor batches.
TEST(Augment, IsTheSameInEveryBatch) {
  auto epoch_of = [](int64_t batch, int64_t threads) {
    Loader loader(
        changed({{"crop", "2"}, {"flip", "true"}}),
        {.batch_size = batch, .seed = 4, .repeat = false, .threads = threads});
    std::map<int64_t, Pixels> images;
    while (const Batch* b = loader.next()) {
      for (int64_t row = 0; row < b->rows; ++row) {
        images[values_in<int64_t>(b->field(0) + 8 * row, 1)[0]] =
            values_in<float>(b->field(1) + 48 * row, 12);
      }
    }
    return images;
  };
  auto expected = epoch_of(1, 1);
  EXPECT_EQ(expected.size(), 9U);
  EXPECT_EQ(epoch_of(4, 1), expected);
  EXPECT_EQ(epoch_of(3, 3), expected);
}

TEST(Augment, RefusesWhatDoesNotFit) {
  auto refused = [](const Texts& texts, DatasetPtr data) {
    return error_of<std::invalid_argument>([&] { augment(data, texts); });
  };
  auto pictures = std::make_shared<Pictures>();
  expect_contains(refused({{"mean", "[1, 2, 3]"}}, pictures),
                  "expected one number or 2 (per channel) for 'mean', got 3");
  expect_contains(refused({{"std", "[1, 0]"}}, pictures),
                  "expected numbers above 0 for 'std', got '[1, 0]'");
  expect_contains(refused({{"flop", "true"}}, pictures),
                  "HINT: did you mean 'flip'?");
  expect_contains(refused({{"flip", "true"}}, std::make_shared<Numbers>(3)),
                  "got no field x (numbers)");
  expect_contains(refused({{"flip", "true"}}, std::make_shared<Pictures>(
                                                  DType::kFloat32, Shape{12})),
                  "expected images x f32 [C, H, W], got x f32 [12]");
}

}  // namespace
}  // namespace braid::data
