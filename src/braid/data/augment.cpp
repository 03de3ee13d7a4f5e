#include "braid/data/augment.h"

#include <algorithm>
#include <utility>

#include "braid/base/error.h"
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

  bool any() const { return padding > 0 || flip || !mean.empty(); }
};

constexpr int64_t kMostCrop = 4096;  // pixels, as the largest pictures have

// [C, H, W]
struct Size {
  int64_t channels, height, width;
};

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

void move_pixels(const std::vector<float>& from, const Size& size,
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

void normalise(const Changes& changes, const Size& size, float* pixels) {
  int64_t area = size.height * size.width;
  for (size_t c = 0; c < changes.mean.size(); ++c, pixels += area) {
    auto mean = static_cast<float>(changes.mean[c]);
    auto deviation = static_cast<float>(changes.deviation[c]);
    std::for_each_n(pixels, area,
                    [=](float& pixel) { pixel = (pixel - mean) / deviation; });
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
    if (changes_.padding > 0 || changes_.flip) {
      SampleRandom random(draw.seed, "augment", index, draw.epoch);
      std::vector<float> before(
          pixels, pixels + size_.channels * size_.height * size_.width);
      move_pixels(before, size_, draw_place(changes_, random), pixels);
    }
    normalise(changes_, size_, pixels);
  }

 private:
  size_t field_;
  Changes changes_;
  Size size_ = {};
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

}  // namespace

const std::vector<Option>& augment_options() {
  static const std::vector<Option> options = {
      {"crop", Kind::kCount, "0",
       "pad with this many black pixels on every side and cut a random part of "
       "the old size"},
      {"flip", Kind::kFlag, "false", "every other image from left to right"},
      {"mean", Kind::kNumbers, "", "to subtract, per channel"},
      {"std", Kind::kNumbers, "", "to divide by, per channel"}};
  return options;
}

DatasetPtr augment(DatasetPtr images, const Texts& texts) {
  Options options("data.augment", augment_options(), texts);
  Changes changes{.padding = options.whole("crop"),
                  .flip = options.flag("flip"),
                  .mean = {},
                  .deviation = {}};
  if (changes.padding > kMostCrop) {
    fail_usage("[{}] expected a crop of at most {} pixels, got {}",
               options.who(), kMostCrop, changes.padding);
  }
  if (!changes.any() && !options.has("mean") && !options.has("std")) {
    return images;
  }
  size_t field = find_images(*images, options);
  set_normalisation(options, images->fields()[field].shape[0], changes);
  return std::make_shared<Augmented>(images, field, std::move(changes));
}

}  // namespace braid::data
