// Drawn glyphs: 0-9 and A-Z as images, each at its own place, size, angle,
// slant and thickness, with noise. A sample is a function of (seed, part,
// number): the same in every epoch, drawn anew whenever it is read.
#include <algorithm>
#include <cmath>

#include "braid/base/error.h"
#include "braid/data/sample_random.h"
#include "braid/data/source_rows.h"
#include "braid/data/strokes.h"

namespace braid::data {
namespace {

// Numbers of samples of the test part; no count of train samples comes near.
constexpr int64_t kTestOffset = int64_t{1} << 62;

struct Glyphs {
  int64_t size = 28;
  int64_t classes = 10;
  int64_t seed = 0;
  int64_t offset = 0;
  double jitter = 1;  // 0: all alike
  double noise = 0.1;
};

// From the unit box of the strokes to pixels.
struct Placement {
  double xx, xy, yx, yy, x, y;

  Point operator()(Point p) const {
    double u = p.x - 0.5, v = p.y - 0.5;
    return {x + xx * u + xy * v, y + yx * u + yy * v};
  }
};

Placement draw_placement(const Glyphs& glyphs, SampleRandom& random) {
  double side = static_cast<double>(glyphs.size), j = glyphs.jitter;
  double height = side * (0.68 + j * random.between(-0.13, 0.13));
  double width = height * (0.75 + j * random.between(-0.15, 0.15));
  double angle = j * random.between(-0.26, 0.26);
  double slant = j * random.between(-0.25, 0.25);
  double x = side * (0.5 + j * random.between(-0.08, 0.08));
  double y = side * (0.5 + j * random.between(-0.08, 0.08));
  double c = std::cos(angle), s = std::sin(angle);
  return {width * c, height * (slant * c - s),
          width * s, height * (slant * s + c),
          x,         y};
}

// A square picture of `side` pixels a side, row-major.
struct Canvas {
  float* pixels;
  int64_t side;
};

// Squared, from p to the segment from a to b.
double distance_squared(Point p, Point a, Point b) {
  double dx = b.x - a.x, dy = b.y - a.y;
  double length = dx * dx + dy * dy;
  double t = length > 0 ? ((p.x - a.x) * dx + (p.y - a.y) * dy) / length : 0;
  t = std::clamp(t, 0.0, 1.0);
  double x = p.x - a.x - t * dx, y = p.y - a.y - t * dy;
  return x * x + y * y;
}

int64_t clamp_pixel(double x, int64_t side) {
  return std::clamp<int64_t>(static_cast<int64_t>(std::floor(x)), 0, side);
}

// Ink falls from 1 to 0 over the pixel at the edge of the pen.
void draw_pixel(Canvas canvas, int64_t x, int64_t y, Point a, Point b,
                double radius) {
  Point centre{static_cast<double>(x) + 0.5, static_cast<double>(y) + 0.5};
  double squared = distance_squared(centre, a, b), reach = radius + 0.5;
  if (squared >= reach * reach) return;
  auto ink = static_cast<float>(std::min(reach - std::sqrt(squared), 1.0));
  float& pixel = canvas.pixels[y * canvas.side + x];
  pixel = std::max(pixel, ink);
}

void draw_segment(Canvas canvas, Point a, Point b, double radius) {
  auto [left, right] = std::minmax(a.x, b.x);
  auto [top, bottom] = std::minmax(a.y, b.y);
  int64_t x_begin = clamp_pixel(left - radius - 1, canvas.side);
  int64_t x_end = clamp_pixel(right + radius + 2, canvas.side);
  int64_t y_end = clamp_pixel(bottom + radius + 2, canvas.side);
  for (int64_t y = clamp_pixel(top - radius - 1, canvas.side); y < y_end; ++y) {
    for (int64_t x = x_begin; x < x_end; ++x) {
      draw_pixel(canvas, x, y, a, b, radius);
    }
  }
}

void draw_line(Canvas canvas, const Line& line, const Placement& place,
               double radius) {
  for (size_t i = 0; i + 1 < line.size(); ++i) {
    draw_segment(canvas, place(line[i]), place(line[i + 1]), radius);
  }
}

// The sum of two uniforms of 16 bits, from -1 to 1: round enough, and cheap.
double small_noise(uint64_t bits) {
  return static_cast<double>((bits & 0xFFFF) + (bits >> 16 & 0xFFFF)) /
             65535.0 -
         1;
}

void add_noise(Canvas canvas, double noise, SampleRandom& random) {
  if (noise == 0) return;
  uint64_t bits = 0;
  for (int64_t i = 0; i < canvas.side * canvas.side; ++i) {
    bits = i % 2 == 0 ? random.bits() : bits >> 32;
    double value = canvas.pixels[i] + 2 * noise * small_noise(bits);
    canvas.pixels[i] = static_cast<float>(std::clamp(value, 0.0, 1.0));
  }
}

void draw_glyph(const Glyphs& glyphs, int64_t label, SampleRandom random,
                Canvas canvas) {
  std::fill_n(canvas.pixels, canvas.side * canvas.side, 0.0F);
  Placement place = draw_placement(glyphs, random);
  double thickness = 0.045 + glyphs.jitter * random.between(-0.02, 0.02);
  double radius = thickness * static_cast<double>(glyphs.size);
  for (const Line& line : glyph_lines(label)) {
    draw_line(canvas, line, place, radius);
  }
  add_noise(canvas, glyphs.noise, random);
}

class GlyphsDataset : public Dataset {
 public:
  GlyphsDataset(const Glyphs& glyphs, int64_t count)
      : Dataset("glyphs",
                {{"x", DType::kFloat32, {1, glyphs.size, glyphs.size}, 0, true},
                 {"y", DType::kInt64, {}, glyphs.classes, true}},
                count),
        glyphs_(glyphs) {}

  // Labels take turns, so every part of the data is balanced.
  void read(int64_t index, const Draw&,
            std::span<std::byte* const> out) const override {
    int64_t label = index % glyphs_.classes;
    SampleRandom random(glyphs_.seed, "glyphs", glyphs_.offset + index);
    auto* pixels = reinterpret_cast<float*>(out[0]);
    draw_glyph(glyphs_, label, random, {pixels, glyphs_.size});
    *reinterpret_cast<int64_t*>(out[1]) = label;
  }

 private:
  Glyphs glyphs_;
};

void check_glyphs(const Glyphs& glyphs, const Options& options) {
  if (glyphs.classes > kNumGlyphs) {
    fail_usage("[{}] expected classes of at most {} (0-9, then A-Z), got {}",
               options.who(), kNumGlyphs, glyphs.classes);
  }
  if (glyphs.size < 8 || glyphs.size > 1024) {
    fail_usage("[{}] expected a size from 8 to 1024 pixels, got {}",
               options.who(), glyphs.size);
  }
  if (glyphs.noise < 0 || glyphs.jitter < 0) {
    fail_usage("[{}] expected noise and jitter from 0, got {} and {}",
               options.who(), glyphs.noise, glyphs.jitter);
  }
}

DatasetPtr open_glyphs(const Options& options) {
  Glyphs glyphs{.size = options.whole("size"),
                .classes = options.whole("classes"),
                .seed = options.whole("seed"),
                .offset = options.text("part") == "test" ? kTestOffset : 0,
                .jitter = options.number("jitter"),
                .noise = options.number("noise")};
  check_glyphs(glyphs, options);
  return std::make_shared<GlyphsDataset>(glyphs, options.whole("count"));
}

}  // namespace

Source glyphs_source() {
  using Kind = Option::Kind;
  return {
      "glyphs",
      "drawn digits and letters with jitter and noise; no download",
      "x f32 [1, size, size], y i64",
      {{"count", Kind::kWhole, "10000", "images"},
       {"size", Kind::kWhole, "28", "pixels of a side"},
       {"classes", Kind::kWhole, "10", "10: digits; up to 36: letters too"},
       choice_option("part", {"train", "test"}, "two sets that share no draw"),
       {"jitter", Kind::kNumber, "1",
        "variation of place, size, angle, slant and thickness; 0: none"},
       {"noise", Kind::kNumber, "0.1", "of every pixel"},
       seed_option("of the drawing")},
      open_glyphs};
}

}  // namespace braid::data
