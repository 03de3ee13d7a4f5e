// Changes of one image, f32 [C, H, W] row-major, in place: what augmentation
// draws the numbers for. Definitions are those of torchvision and the papers,
// see each.
#pragma once

#include <cstdint>

namespace braid::data {

// [C, H, W]
struct ImageSize {
  int64_t channels = 0, height = 0, width = 0;

  int64_t area() const { return height * width; }
  int64_t count() const { return channels * area(); }
};

// Counter-clockwise around the middle; bilinear, black beyond the edge. As
// torchvision's rotate() with InterpolationMode.BILINEAR.
void rotate_image(float* pixels, const ImageSize& size, double degrees);

// As the functions adjust_* of torchvision, for pixels from 0 to 1 that are
// red, green and blue, or grey. A factor of 1, and for the hue 0, changes
// nothing; grey images have neither saturation nor hue.
void adjust_brightness(float* pixels, const ImageSize& size, double factor);
void adjust_contrast(float* pixels, const ImageSize& size, double factor);
void adjust_saturation(float* pixels, const ImageSize& size, double factor);
// The share of a turn, from -0.5 to 0.5.
void adjust_hue(float* pixels, const ImageSize& size, double share);

// Zeros in a square of that side with its middle at a pixel, as far as it lies
// inside (DeVries and Taylor 2017).
void cut_out(float* pixels, const ImageSize& size, int64_t side,
             int64_t middle_y, int64_t middle_x);

}  // namespace braid::data
