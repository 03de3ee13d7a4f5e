#include "braid/io/data/dataset.h"

#include <algorithm>
#include <utility>

#include "braid/base/error.h"
#include "braid/base/printable.h"

namespace braid::data {
namespace {

class FirstSamples : public Dataset {
 public:
  FirstSamples(DatasetPtr whole, int64_t limit)
      : Dataset(whole->name(), whole->fields(), limit),
        whole_(std::move(whole)) {}

  void read(int64_t index, const Draw& draw,
            std::span<std::byte* const> out) const override {
    whole_->read(index, draw, out);
  }

  void check() const override { whole_->check(); }

 private:
  DatasetPtr whole_;
};

}  // namespace

size_t sample_bytes(const Field& field) {
  return static_cast<size_t>(num_elements(field.shape) *
                             item_bytes(field.dtype));
}

std::string field_text(const Field& field) {
  return fmt::format("{} {} {}", printable(field.name), dtype_name(field.dtype),
                     shape_text(field.shape));
}

std::string fields_text(const std::vector<Field>& fields, bool with_classes) {
  constexpr size_t kMost = 20;
  size_t shown = std::min(fields.size(), kMost);
  std::string text;
  for (const Field& field : std::span(fields).first(shown)) {
    text += (text.empty() ? "" : ", ") + field_text(field);
    bool has_classes = with_classes && field.classes > 0;
    if (has_classes) text += fmt::format(" below {}", field.classes);
  }
  auto hidden = static_cast<int64_t>(fields.size() - shown);
  return hidden == 0 ? text
                     : fmt::format("{} and {} more", text, grouped(hidden));
}

Dataset::Dataset(std::string name, std::vector<Field> fields, int64_t size)
    : name_(std::move(name)), fields_(std::move(fields)), size_(size) {
  if (size_ < 1) {
    fail_world("[data] expected at least one sample, got {} ({})", size_,
               name_);
  }
}

std::optional<size_t> Dataset::find_field(std::string_view field) const {
  auto found = std::ranges::find(fields_, field, &Field::name);
  if (found == fields_.end()) return std::nullopt;
  return static_cast<size_t>(found - fields_.begin());
}

DatasetPtr first_samples(DatasetPtr whole, int64_t limit) {
  if (limit >= whole->size()) return whole;
  return std::make_shared<FirstSamples>(std::move(whole), limit);
}

}  // namespace braid::data
