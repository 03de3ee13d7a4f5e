#include "braid/data/dataset.h"

#include <algorithm>
#include <utility>

#include "braid/base/error.h"
#include "braid/base/printable.h"
#include "braid/data/wrapper.h"

namespace braid::data {
namespace {

class FirstSamples : public Wrapper {
 public:
  FirstSamples(const DatasetPtr& whole, int64_t limit)
      : Wrapper(whole, whole->fields(), limit) {}

  void read(int64_t index, const Draw& draw,
            std::span<std::byte* const> out) const override {
    inner().read(index, draw, out);
  }
};

std::vector<Field> chosen_fields(const Dataset& dataset,
                                 const std::vector<size_t>& numbers) {
  std::vector<Field> fields;
  for (size_t number : numbers) fields.push_back(dataset.fields()[number]);
  return fields;
}

class OrderedFields : public Wrapper {
 public:
  OrderedFields(const DatasetPtr& dataset, std::vector<size_t> numbers)
      : Wrapper(dataset, chosen_fields(*dataset, numbers), dataset->size()),
        numbers_(std::move(numbers)) {}

  void read(int64_t index, const Draw& draw,
            std::span<std::byte* const> out) const override {
    std::vector<std::byte*> there(out.size());
    for (size_t f = 0; f < out.size(); ++f) there[numbers_[f]] = out[f];
    inner().read(index, draw, there);
  }
  std::string place(size_t field, int64_t index) const override {
    return inner().place(numbers_[field], index);
  }

 private:
  std::vector<size_t> numbers_;  // of the inner fields, in this order
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

std::string Dataset::place(size_t, int64_t index) const {
  return fmt::format("row {} of {}", index, name_);
}

std::optional<size_t> Dataset::find_field(std::string_view field) const {
  auto found = std::ranges::find(fields_, field, &Field::name);
  if (found == fields_.end()) return std::nullopt;
  return static_cast<size_t>(found - fields_.begin());
}

DatasetPtr first_samples(DatasetPtr whole, int64_t limit) {
  if (limit >= whole->size()) return whole;
  return std::make_shared<FirstSamples>(whole, limit);
}

DatasetPtr ordered_fields(DatasetPtr dataset,
                          const std::vector<std::string>& names) {
  std::vector<size_t> numbers;
  for (const std::string& name : names) {
    std::optional<size_t> number = dataset->find_field(name);
    if (!number || std::ranges::count(names, name) != 1) break;
    numbers.push_back(*number);
  }
  if (numbers.size() != dataset->fields().size() ||
      numbers.size() != names.size()) {
    fail_usage(
        "[data] expected an order of all fields, got {} names for {} ({})",
        names.size(), dataset->fields().size(), dataset->name());
  }
  if (std::ranges::is_sorted(numbers)) return dataset;
  return std::make_shared<OrderedFields>(dataset, std::move(numbers));
}

}  // namespace braid::data
