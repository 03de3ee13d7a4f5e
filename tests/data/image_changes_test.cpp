#include "braid/data/image_changes.h"

#include <gtest/gtest.h>

#include <vector>

namespace braid::data {
namespace {

using Pixels = std::vector<float>;

Pixels rotated(Pixels pixels, const ImageSize& size, double degrees) {
  rotate_image(pixels.data(), size, degrees);
  return pixels;
}

void expect_near(const Pixels& got, const Pixels& want, float most = 1e-6F) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], want[i], most) << i;
  }
}

// Counter-clockwise, also of images that are not square.
TEST(ImageChanges, QuarterTurnsMovePixels) {
  Pixels image = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  expect_near(rotated(image, {1, 3, 3}, 0), image);
  expect_near(rotated(image, {1, 3, 3}, 90), {3, 6, 9, 2, 5, 8, 1, 4, 7});
  expect_near(rotated(image, {1, 3, 3}, 180), {9, 8, 7, 6, 5, 4, 3, 2, 1});
  expect_near(rotated({1, 2, 3}, {1, 1, 3}, 90), {0, 2, 0});
  expect_near(rotated({1, 2, 3, 4}, {2, 1, 2}, 180), {2, 1, 4, 3});
}

TEST(ImageChanges, ASingleGreyPixelHasNoColour) {
  Pixels pixel = {0.4F};
  adjust_saturation(pixel.data(), {1, 1, 1}, 5);
  adjust_hue(pixel.data(), {1, 1, 1}, 0.3);
  adjust_contrast(pixel.data(), {1, 1, 1}, 7);
  EXPECT_NEAR(pixel[0], 0.4F, 1e-6F);
  adjust_brightness(pixel.data(), {1, 1, 1}, 1.5);
  EXPECT_NEAR(pixel[0], 0.6F, 1e-6F);
  adjust_brightness(pixel.data(), {1, 1, 1}, 1.75);
  EXPECT_EQ(pixel[0], 1);
}

// A third of a turn takes red to green to blue.
TEST(ImageChanges, HuesTurn) {
  Pixels red = {0.8F, 0.2F, 0.2F};
  adjust_hue(red.data(), {3, 1, 1}, 1.0 / 3);
  expect_near(red, {0.2F, 0.8F, 0.2F});
  adjust_hue(red.data(), {3, 1, 1}, 1.0 / 3);
  expect_near(red, {0.2F, 0.2F, 0.8F});
  adjust_hue(red.data(), {3, 1, 1}, -0.5);
  expect_near(red, {0.8F, 0.8F, 0.2F});
  Pixels grey = {0.3F, 0.3F, 0.3F};
  adjust_hue(grey.data(), {3, 1, 1}, 0.2);
  expect_near(grey, {0.3F, 0.3F, 0.3F}, 0);
  Pixels black = {0, 0, 0};
  adjust_hue(black.data(), {3, 1, 1}, 0.2);
  expect_near(black, {0, 0, 0}, 0);
}

TEST(ImageChanges, WithoutSaturationOrContrastAllIsGrey) {
  Pixels image = {1, 0, 0, 1, 0, 0};  // [3, 1, 2]
  Pixels grey = image;
  adjust_saturation(grey.data(), {3, 1, 2}, 0);
  expect_near(grey, {0.2989F, 0.587F, 0.2989F, 0.587F, 0.2989F, 0.587F});
  adjust_contrast(image.data(), {3, 1, 2}, 0);
  expect_near(image, Pixels(6, (0.2989F + 0.587F) / 2));
}

TEST(ImageChanges, SquaresAreCutAtTheEdge) {
  auto cut = [](int64_t side, int64_t y, int64_t x) {
    Pixels image(12, 1);
    cut_out(image.data(), {1, 3, 4}, side, y, x);
    return image;
  };
  EXPECT_EQ(cut(1, 1, 1), (Pixels{1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(cut(2, 0, 0), (Pixels{0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(cut(2, 2, 3), (Pixels{1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0}));
  EXPECT_EQ(cut(100, 1, 2), Pixels(12, 0));
}

}  // namespace
}  // namespace braid::data
