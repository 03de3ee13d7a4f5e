#include "braid/data/dataset.h"

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
  std::string place(size_t field, int64_t index) const override {
    return whole_->place(field, index);
  }
  int64_t reach() const override { return whole_->reach(); }
  void check() const override { whole_->check(); }

 private:
  DatasetPtr whole_;
};

std::vector<Field> chosen_fields(const Dataset& dataset,
                                 const std::vector<size_t>& numbers) {
  std::vector<Field> fields;
  for (size_t number : numbers) fields.push_back(dataset.fields()[number]);
  return fields;
}

class OrderedFields : public Dataset {
 public:
  OrderedFields(DatasetPtr dataset, std::vector<size_t> numbers)
      : Dataset(dataset->name(), chosen_fields(*dataset, numbers),
                dataset->size()),
        dataset_(std::move(dataset)),
        numbers_(std::move(numbers)) {}

  void read(int64_t index, const Draw& draw,
            std::span<std::byte* const> out) const override {
    std::vector<std::byte*> inner(out.size());
    for (size_t f = 0; f < out.size(); ++f) inner[numbers_[f]] = out[f];
    dataset_->read(index, draw, inner);
  }
  std::string place(size_t field, int64_t index) const override {
    return dataset_->place(numbers_[field], index);
  }
  int64_t reach() const override { return dataset_->reach(); }
  void check() const override { dataset_->check(); }

 private:
  DatasetPtr dataset_;
  std::vector<size_t> numbers_;  // of the dataset's fields, in this order
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
  return std::make_shared<FirstSamples>(std::move(whole), limit);
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
  return std::make_shared<OrderedFields>(std::move(dataset),
                                         std::move(numbers));
}

}  // namespace braid::data
