// Resizing by a triangle as wide as two pixels of the coarser grid, first
// along rows, then along columns: what Pillow calls BILINEAR.
#include "braid/data/picture.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace braid::data {
namespace {

// Which pixels make one new pixel, and how much of each.
struct Taps {
  int64_t first = 0;
  std::vector<float> weights;
};

Taps taps_of(double centre, double scale, int64_t size) {
  double reach = std::max(scale, 1.0);
  Taps taps;
  taps.first = std::max<int64_t>(
      static_cast<int64_t>(std::floor(centre - reach + 0.5)), 0);
  int64_t end = std::min<int64_t>(
      static_cast<int64_t>(std::floor(centre + reach + 0.5)), size);
  double sum = 0;
  for (int64_t i = taps.first; i < end; ++i) {
    double away = std::abs(static_cast<double>(i) + 0.5 - centre) / reach;
    taps.weights.push_back(static_cast<float>(std::max(0.0, 1 - away)));
    sum += taps.weights.back();
  }
  for (float& weight : taps.weights) weight /= static_cast<float>(sum);
  return taps;
}

// `count` new pixels over [begin, begin + length) of `size` old ones.
std::vector<Taps> all_taps(double begin, double length, int64_t size,
                           int64_t count) {
  double scale = length / static_cast<double>(count);
  std::vector<Taps> taps;
  for (int64_t i = 0; i < count; ++i) {
    double centre = begin + (static_cast<double>(i) + 0.5) * scale;
    taps.push_back(taps_of(centre, scale, size));
  }
  return taps;
}

// One row of the picture, `side` pixels of three colours.
void shrink_row(const uint8_t* row, const std::vector<Taps>& columns,
                float* out) {
  for (const Taps& taps : columns) {
    std::array<float, 3> sum = {};
    const uint8_t* pixel = row + 3 * taps.first;
    for (float weight : taps.weights) {
      for (float& colour : sum) colour += weight * *pixel++;
    }
    out = std::ranges::copy(sum, out).out;
  }
}

// Rows of the picture that are needed, each `side` pixels of three colours.
std::vector<float> shrink_rows(const Picture& picture,
                               const std::vector<Taps>& columns, int64_t begin,
                               int64_t end) {
  size_t row_floats = 3 * columns.size();
  std::vector<float> rows(static_cast<size_t>(end - begin) * row_floats);
  for (int64_t y = begin; y < end; ++y) {
    shrink_row(picture.rgb.data() + 3 * picture.width * y, columns,
               rows.data() + static_cast<size_t>(y - begin) * row_floats);
  }
  return rows;
}

// Weights of red, green and blue in grey, as television had them.
constexpr std::array<float, 3> kGrey = {0.299F, 0.587F, 0.114F};

void write_pixel(const std::array<float, 3>& rgb, int64_t channels,
                 int64_t area, float* out) {
  if (channels == 1) {
    out[0] = (kGrey[0] * rgb[0] + kGrey[1] * rgb[1] + kGrey[2] * rgb[2]) / 255;
    return;
  }
  for (size_t c = 0; c < 3; ++c) {
    out[static_cast<int64_t>(c) * area] = rgb[c] / 255;
  }
}

}  // namespace

void resize_picture(const Picture& picture, const Square& part, int64_t side,
                    int64_t channels, float* out) {
  auto columns = all_taps(part.left, part.width, picture.width, side);
  auto lines = all_taps(part.top, part.height, picture.height, side);
  int64_t begin = lines.front().first;
  int64_t end =
      lines.back().first + static_cast<int64_t>(lines.back().weights.size());
  std::vector<float> rows = shrink_rows(picture, columns, begin, end);
  for (const Taps& taps : lines) {
    for (int64_t x = 0; x < side; ++x, ++out) {
      std::array<float, 3> sum = {};
      const float* pixel = rows.data() + 3 * ((taps.first - begin) * side + x);
      for (float weight : taps.weights) {
        for (size_t c = 0; c < 3; ++c) sum[c] += weight * pixel[c];
        pixel += 3 * side;
      }
      write_pixel(sum, channels, side * side, out);
    }
  }
}

}  // namespace braid::data
