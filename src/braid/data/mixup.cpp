#include "braid/data/mixup.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "braid/base/error.h"
#include "braid/data/sample_random.h"
#include "braid/data/wrapper.h"

namespace braid::data {
namespace {

// Marsaglia and Tsang 2000, for shapes of 1 and more.
double draw_gamma(SampleRandom& random, double shape) {
  double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    double x = random.normal(), root = 1 + c * x;
    double u = 1 - random.unit();  // above 0
    if (root <= 0) continue;
    double v = root * root * root;
    if (std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

// The logarithm: of small shapes the number itself may be too small.
double draw_log_gamma(SampleRandom& random, double shape) {
  if (shape >= 1) return std::log(draw_gamma(random, shape));
  double more = std::log(draw_gamma(random, shape + 1));
  return more + std::log(1 - random.unit()) / shape;
}

// Beta(alpha, alpha)
double draw_share(SampleRandom& random, double alpha) {
  double a = draw_log_gamma(random, alpha), b = draw_log_gamma(random, alpha);
  return 1 / (1 + std::exp(b - a));
}

std::vector<Field> mixed_fields(std::vector<Field> fields, size_t label) {
  Field& field = fields[label];
  field.dtype = DType::kFloat32;
  field.shape = {field.classes};
  field.is_mixed = true;
  return fields;
}

class Mixed : public Wrapper {
 public:
  Mixed(const DatasetPtr& images, size_t image, size_t label, double alpha)
      : Wrapper(images, mixed_fields(images->fields(), label), images->size()),
        image_(image),
        label_(label),
        alpha_(alpha) {}

  void read(int64_t index, const Draw& draw,
            std::span<std::byte* const> out) const override {
    auto [other, share] = partner(index, draw);
    std::vector<std::vector<std::byte>> bytes;  // of the other sample
    for (const Field& field : inner().fields()) {
      bytes.emplace_back(sample_bytes(field));
    }
    int64_t label = 0, other_label = 0;
    std::vector<std::byte*> place(out.begin(), out.end());
    place[label_] = reinterpret_cast<std::byte*>(&label);
    inner().read(index, draw, place);
    for (size_t f = 0; f < place.size(); ++f) place[f] = bytes[f].data();
    place[label_] = reinterpret_cast<std::byte*>(&other_label);
    inner().read(other, draw, place);
    mix_images(reinterpret_cast<float*>(out[image_]),
               reinterpret_cast<const float*>(bytes[image_].data()), share);
    auto* shares = reinterpret_cast<float*>(out[label_]);
    std::fill_n(shares, fields()[label_].classes, 0.0F);
    shares[checked(label, index)] += share;
    shares[checked(other_label, other)] += 1.0F - share;
  }

  void prepare(std::span<const int64_t> indices,
               const Draw& draw) const override {
    std::vector<int64_t> all(indices.begin(), indices.end());
    for (int64_t index : indices) all.push_back(partner(index, draw).first);
    inner().prepare(all, draw);
  }

 private:
  // The other sample, and the share of this one.
  std::pair<int64_t, float> partner(int64_t index, const Draw& draw) const {
    SampleRandom random(draw.seed, "mixup", index, draw.epoch);
    int64_t other = random.below(size());
    return {other, static_cast<float>(draw_share(random, alpha_))};
  }

  void mix_images(float* x, const float* other, float share) const {
    int64_t count = num_elements(fields()[image_].shape);
    for (int64_t i = 0; i < count; ++i) {
      x[i] = share * x[i] + (1.0F - share) * other[i];
    }
  }

  size_t checked(int64_t label, int64_t index) const {
    if (label >= 0 && label < fields()[label_].classes) {
      return static_cast<size_t>(label);
    }
    fail_world("[data.augment] expected a class from 0 to {}, got {} ({})",
               fields()[label_].classes - 1, label, place(label_, index));
  }

  size_t image_, label_;
  double alpha_;
};

}  // namespace

DatasetPtr mixup(const DatasetPtr& images, double alpha,
                 const std::string& who) {
  size_t image = images->find_field("x").value();
  std::optional<size_t> label = images->find_field("y");
  const Field* field = label ? &images->fields()[*label] : nullptr;
  bool fits = field && field->dtype == DType::kInt64 && field->shape.empty();
  if (!fits) {
    fail_usage("[{}] mixup mixes labels too: expected y i64 [], got {} ({})",
               who, field ? field_text(*field) : "no field y", images->name());
  }
  if (field->classes == 0) {
    fail_usage(
        "[{}] mixup makes probabilities of classes, and how many there are is "
        "not known ({})\nHINT: say it beside the source, 'classes: 10'",
        who, images->name());
  }
  return std::make_shared<Mixed>(images, image, *label, alpha);
}

}  // namespace braid::data
