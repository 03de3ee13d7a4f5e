#include "braid/data/augment.h"

#include <algorithm>
#include <array>
#include <utility>

#include "braid/base/error.h"
#include "braid/data/image_changes.h"
#include "braid/data/mixup.h"
#include "braid/data/sample_random.h"
#include "braid/data/wrapper.h"

namespace braid::data {
namespace {

using Kind = Option::Kind;

struct Changes {
  int64_t padding = 0;  // of the random crop
  bool flip = false;
  std::vector<double> mean;  // per channel; empty: images stay as they are
  std::vector<double> deviation;

  double rotate = 0;  // degrees either way
  double brightness = 0, contrast = 0, saturation = 0, hue = 0;
  int64_t cutout = 0;  // side of the square

  bool moves() const { return padding > 0 || flip; }
  bool colours() const {
    return brightness > 0 || contrast > 0 || saturation > 0 || hue > 0;
  }
  bool any() const {
    return moves() || colours() || rotate > 0 || cutout > 0 || !mean.empty();
  }
};

constexpr int64_t kMostPixels = 4096;  // as the largest pictures have

// Where the pixels of one sample come from.
struct Place {
  int64_t down = 0;
  int64_t right = 0;
  bool flipped = false;
};

Place draw_place(const Changes& changes, SampleRandom random) {
  int64_t places = 2 * changes.padding + 1;
  Place place{random.below(places) - changes.padding,
              random.below(places) - changes.padding};
  place.flipped = random.below(2) == 1 && changes.flip;
  return place;
}

// One row of the image, black beyond its edge.
void move_row(const float* from, int64_t width, const Place& place, float* to) {
  for (int64_t x = 0; x < width; ++x) {
    int64_t source = (place.flipped ? width - 1 - x : x) + place.right;
    to[x] = source >= 0 && source < width ? from[source] : 0.0F;
  }
}

void move_pixels(const std::vector<float>& from, const ImageSize& size,
                 const Place& place, float* to) {
  for (int64_t c = 0; c < size.channels; ++c) {
    for (int64_t y = 0; y < size.height; ++y, to += size.width) {
      int64_t row = y + place.down;
      if (row < 0 || row >= size.height) {
        std::fill_n(to, size.width, 0.0F);
      } else {
        const float* begin = from.data() + (c * size.height + row) * size.width;
        move_row(begin, size.width, place, to);
      }
    }
  }
}

void normalise(const Changes& changes, const ImageSize& size, float* pixels) {
  int64_t area = size.height * size.width;
  for (size_t c = 0; c < changes.mean.size(); ++c, pixels += area) {
    auto mean = static_cast<float>(changes.mean[c]);
    auto deviation = static_cast<float>(changes.deviation[c]);
    std::for_each_n(pixels, area,
                    [=](float& pixel) { pixel = (pixel - mean) / deviation; });
  }
}

// Around 1, never below 0.
double draw_factor(SampleRandom& random, double strength) {
  return random.between(std::max(0.0, 1 - strength), 1 + strength);
}

// One after the other in a random order, as torchvision's ColorJitter. All
// numbers are drawn whether they are used or not.
void change_colours(const Changes& changes, const ImageSize& size,
                    SampleRandom random, float* pixels) {
  std::array<int, 4> order = {0, 1, 2, 3};
  for (size_t last = order.size(); last-- > 1;) {
    int64_t other = random.below(static_cast<int64_t>(last) + 1);
    std::swap(order[last], order[static_cast<size_t>(other)]);
  }
  double brightness = draw_factor(random, changes.brightness);
  double contrast = draw_factor(random, changes.contrast);
  double saturation = draw_factor(random, changes.saturation);
  double hue = random.between(-changes.hue, changes.hue);
  for (int what : order) {
    switch (what) {
      case 0:
        if (changes.brightness > 0) adjust_brightness(pixels, size, brightness);
        break;
      case 1:
        if (changes.contrast > 0) adjust_contrast(pixels, size, contrast);
        break;
      case 2:
        if (changes.saturation > 0) adjust_saturation(pixels, size, saturation);
        break;
      default:
        if (changes.hue > 0) adjust_hue(pixels, size, hue);
    }
  }
}

class Augmented : public Wrapper {
 public:
  Augmented(const DatasetPtr& images, size_t field, Changes changes)
      : Wrapper(images, images->fields(), images->size()),
        field_(field),
        changes_(std::move(changes)) {
    const Shape& shape = fields()[field_].shape;
    size_ = {shape[0], shape[1], shape[2]};
  }

  void read(int64_t index, const Draw& draw,
            std::span<std::byte* const> out) const override {
    inner().read(index, draw, out);
    auto* pixels = reinterpret_cast<float*>(out[field_]);
    if (changes_.moves()) {
      std::vector<float> before(pixels, pixels + size_.count());
      Place place = draw_place(changes_, stream("augment", index, draw));
      move_pixels(before, size_, place, pixels);
    }
    if (changes_.rotate > 0) {
      double angle = stream("rotate", index, draw)
                         .between(-changes_.rotate, changes_.rotate);
      rotate_image(pixels, size_, angle);
    }
    if (changes_.colours()) {
      change_colours(changes_, size_, stream("colour", index, draw), pixels);
    }
    normalise(changes_, size_, pixels);
    if (changes_.cutout > 0) {
      SampleRandom random = stream("cutout", index, draw);
      int64_t y = random.below(size_.height), x = random.below(size_.width);
      cut_out(pixels, size_, changes_.cutout, y, x);
    }
  }

 private:
  // Each change draws from a stream of its own, so that one more leaves the
  // others as they were.
  static SampleRandom stream(std::string_view what, int64_t index,
                             const Draw& draw) {
    return {draw.seed, what, index, draw.epoch};
  }

  size_t field_;
  Changes changes_;
  ImageSize size_ = {};
};

// One number for all channels, or one for each.
std::vector<double> per_channel(const Options& options, const char* name,
                                double absent, int64_t channels) {
  auto count = static_cast<size_t>(channels);
  if (!options.has(name)) return std::vector<double>(count, absent);
  std::vector<double> numbers = options.numbers(name);
  if (numbers.size() == 1) numbers.resize(count, numbers[0]);
  if (numbers.size() == count) return numbers;
  fail_usage("[{}] expected one number or {} (per channel) for '{}', got {}",
             options.who(), channels, name, numbers.size());
}

void set_normalisation(const Options& options, int64_t channels,
                       Changes& changes) {
  if (!options.has("mean") && !options.has("std")) return;
  changes.mean = per_channel(options, "mean", 0, channels);
  changes.deviation = per_channel(options, "std", 1, channels);
  if (std::ranges::any_of(changes.deviation, [](double d) { return d <= 0; })) {
    fail_usage("[{}] expected numbers above 0 for 'std', got '{}'",
               options.who(), options.text("std"));
  }
}

size_t find_images(const Dataset& images, const Options& options) {
  std::optional<size_t> field = images.find_field("x");
  bool fits = field && images.fields()[*field].shape.size() == 3 &&
              images.fields()[*field].dtype == DType::kFloat32;
  if (fits) return *field;
  fail_usage("[{}] expected images x f32 [C, H, W], got {} ({})", options.who(),
             field ? field_text(images.fields()[*field]) : "no field x",
             images.name());
}

// From 0 to `most`.
double number_of(const Options& options, const char* name, double most) {
  double number = options.number(name);
  if (number >= 0 && number <= most) return number;
  fail_usage("[{}] expected a number from 0 to {} for '{}', got {}",
             options.who(), most, name, options.text(name));
}

int64_t count_of(const Options& options, const char* name) {
  int64_t count = options.whole(name);
  if (count <= kMostPixels) return count;
  fail_usage("[{}] expected a {} of at most {} pixels, got {}", options.who(),
             name, kMostPixels, count);
}

Changes changes_of(const Options& options) {
  Changes changes;
  changes.padding = count_of(options, "crop");
  changes.flip = options.flag("flip");
  changes.rotate = number_of(options, "rotate", 180);
  changes.brightness = number_of(options, "brightness", 100);
  changes.contrast = number_of(options, "contrast", 100);
  changes.saturation = number_of(options, "saturation", 100);
  changes.hue = number_of(options, "hue", 0.5);
  changes.cutout = count_of(options, "cutout");
  return changes;
}

void check_colours(const Options& options, const Changes& changes,
                   int64_t channels) {
  if (!changes.colours() || channels == 1 || channels == 3) return;
  fail_usage(
      "[{}] brightness, contrast, saturation and hue are of images with 1 or 3 "
      "channels, got {}",
      options.who(), channels);
}

}  // namespace

const std::vector<Option>& augment_options() {
  static const std::vector<Option> options = {
      {"crop", Kind::kCount, "0",
       "pad with this many black pixels on every side and cut a random part of "
       "the old size"},
      {"flip", Kind::kFlag, "false", "every other image from left to right"},
      {"rotate", Kind::kNumber, "0",
       "by an angle up to so many degrees either way, black beyond the edge"},
      {"brightness", Kind::kNumber, "0",
       "times a factor from 1 - this to 1 + this"},
      {"contrast", Kind::kNumber, "0", "the same of the distance to the mean"},
      {"saturation", Kind::kNumber, "0", "the same of the distance to grey"},
      {"hue", Kind::kNumber, "0",
       "turned by up to this share of the circle of colours, at most 0.5"},
      {"mean", Kind::kNumbers, "", "to subtract, per channel"},
      {"std", Kind::kNumbers, "", "to divide by, per channel"},
      {"cutout", Kind::kCount, "0",
       "zeros in a square of this side at a random place"},
      {"mixup", Kind::kNumber, "0",
       "alpha: each image is mixed with another, with shares from Beta(alpha, "
       "alpha), and so are the labels, which become probabilities"}};
  return options;
}

std::vector<std::string> random_changes() {
  return {"crop",       "flip", "rotate", "brightness", "contrast",
          "saturation", "hue",  "cutout", "mixup"};
}

DatasetPtr augment(DatasetPtr images, const Texts& texts) {
  Options options("data.augment", augment_options(), texts);
  Changes changes = changes_of(options);
  double alpha = number_of(options, "mixup", 1000);
  bool is_normalised = options.has("mean") || options.has("std");
  if (!changes.any() && !is_normalised && alpha == 0) return images;
  size_t field = find_images(*images, options);
  int64_t channels = images->fields()[field].shape[0];
  check_colours(options, changes, channels);
  set_normalisation(options, channels, changes);
  if (changes.any()) {
    images = std::make_shared<Augmented>(images, field, std::move(changes));
  }
  return alpha > 0 ? mixup(images, alpha, options.who()) : images;
}

}  // namespace braid::data
