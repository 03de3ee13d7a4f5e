#include "braid/data/image_changes.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <vector>

namespace braid::data {
namespace {

float limited(float value) { return std::clamp(value, 0.0F, 1.0F); }

// ratio * a + (1 - ratio) * b, from 0 to 1.
float blend(float a, float b, float ratio) {
  return limited(ratio * a + (1.0F - ratio) * b);
}

bool has_colour(const ImageSize& size) { return size.channels == 3; }

// Luma, with torchvision's weights; of a grey image its only channel.
float grey_at(const float* pixels, const ImageSize& size, int64_t at) {
  if (!has_colour(size)) return pixels[at];
  return 0.2989F * pixels[at] + 0.587F * pixels[at + size.area()] +
         0.114F * pixels[at + 2 * size.area()];
}

// A channel at a place between pixels.
float sample(std::span<const float> channel, const ImageSize& size, double y,
             double x) {
  double top = std::floor(y), left = std::floor(x);
  double down = y - top, right = x - left;
  auto at = [&](double row, double column) -> double {
    bool is_inside = row >= 0 && row < static_cast<double>(size.height) &&
                     column >= 0 && column < static_cast<double>(size.width);
    if (!is_inside) return 0;
    auto place =
        static_cast<int64_t>(row) * size.width + static_cast<int64_t>(column);
    return channel[static_cast<size_t>(place)];
  };
  double upper = (1 - right) * at(top, left) + right * at(top, left + 1);
  double lower =
      (1 - right) * at(top + 1, left) + right * at(top + 1, left + 1);
  return static_cast<float>((1 - down) * upper + down * lower);
}

struct Hsv {
  float hue, saturation, value;
};

Hsv to_hsv(float r, float g, float b) {
  float most = std::max({r, g, b}), least = std::min({r, g, b});
  float range = most - least;
  if (range == 0) return {0, 0, most};
  float red = (most - r) / range, green = (most - g) / range,
        blue = (most - b) / range;
  float sixths = most == r   ? blue - green
                 : most == g ? 2.0F + red - blue
                             : 4.0F + green - red;
  return {std::fmod(sixths / 6.0F + 1.0F, 1.0F), range / most, most};
}

void from_hsv(const Hsv& c, float& r, float& g, float& b) {
  float sixths = c.hue * 6.0F, whole = std::floor(sixths);
  float rest = sixths - whole;
  float p = limited(c.value * (1.0F - c.saturation));
  float q = limited(c.value * (1.0F - c.saturation * rest));
  float t = limited(c.value * (1.0F - c.saturation * (1.0F - rest)));
  auto set = [&](float red, float green, float blue) {
    r = red;
    g = green;
    b = blue;
  };
  switch (static_cast<int>(whole) % 6) {
    case 0: return set(c.value, t, p);
    case 1: return set(q, c.value, p);
    case 2: return set(p, c.value, t);
    case 3: return set(p, q, c.value);
    case 4: return set(t, p, c.value);
    default: return set(c.value, p, q);
  }
}

}  // namespace

void rotate_image(float* pixels, const ImageSize& size, double degrees) {
  std::vector<float> before(pixels, pixels + size.count());
  double angle = degrees * std::numbers::pi / 180;
  double cosine = std::cos(angle), sine = std::sin(angle);
  double middle_y = static_cast<double>(size.height - 1) / 2;
  double middle_x = static_cast<double>(size.width - 1) / 2;
  for (int64_t y = 0; y < size.height; ++y) {
    for (int64_t x = 0; x < size.width; ++x) {
      double down = static_cast<double>(y) - middle_y;
      double right = static_cast<double>(x) - middle_x;
      double from_x = cosine * right - sine * down + middle_x;
      double from_y = sine * right + cosine * down + middle_y;
      for (int64_t c = 0; c < size.channels; ++c) {
        std::span channel(before.data() + c * size.area(),
                          static_cast<size_t>(size.area()));
        pixels[c * size.area() + y * size.width + x] =
            sample(channel, size, from_y, from_x);
      }
    }
  }
}

void adjust_brightness(float* pixels, const ImageSize& size, double factor) {
  auto ratio = static_cast<float>(factor);
  std::for_each_n(pixels, size.count(),
                  [=](float& pixel) { pixel = limited(ratio * pixel); });
}

void adjust_contrast(float* pixels, const ImageSize& size, double factor) {
  double sum = 0;
  for (int64_t at = 0; at < size.area(); ++at) {
    sum += static_cast<double>(grey_at(pixels, size, at));
  }
  auto mean = static_cast<float>(sum / static_cast<double>(size.area()));
  auto ratio = static_cast<float>(factor);
  std::for_each_n(pixels, size.count(),
                  [=](float& pixel) { pixel = blend(pixel, mean, ratio); });
}

void adjust_saturation(float* pixels, const ImageSize& size, double factor) {
  if (!has_colour(size)) return;
  auto ratio = static_cast<float>(factor);
  for (int64_t at = 0; at < size.area(); ++at) {
    float grey = grey_at(pixels, size, at);
    for (int64_t c = 0; c < 3; ++c) {
      float& pixel = pixels[c * size.area() + at];
      pixel = blend(pixel, grey, ratio);
    }
  }
}

void adjust_hue(float* pixels, const ImageSize& size, double share) {
  if (!has_colour(size)) return;
  for (int64_t at = 0; at < size.area(); ++at) {
    float &r = pixels[at], &g = pixels[at + size.area()],
          &b = pixels[at + 2 * size.area()];
    Hsv colour = to_hsv(r, g, b);
    float hue = colour.hue + static_cast<float>(share);
    colour.hue = hue - std::floor(hue);
    from_hsv(colour, r, g, b);
  }
}

void cut_out(float* pixels, const ImageSize& size, int64_t side,
             int64_t middle_y, int64_t middle_x) {
  int64_t top = std::max<int64_t>(middle_y - side / 2, 0);
  int64_t left = std::max<int64_t>(middle_x - side / 2, 0);
  int64_t bottom = std::min(middle_y - side / 2 + side, size.height);
  int64_t right = std::min(middle_x - side / 2 + side, size.width);
  for (int64_t c = 0; c < size.channels; ++c) {
    for (int64_t y = top; y < bottom; ++y) {
      float* row = pixels + c * size.area() + y * size.width;
      std::fill(row + left, row + right, 0.0F);
    }
  }
}

}  // namespace braid::data
