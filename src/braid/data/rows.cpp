#include "braid/data/rows.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "braid/base/error.h"

namespace braid::data {
namespace {

Shape sample_shape(const Column& column) {
  return {column.shape.begin() + 1, column.shape.end()};
}

size_t row_items(const Column& column) {
  return static_cast<size_t>(num_elements(sample_shape(column)));
}

size_t row_bytes(const Column& column) {
  return row_items(column) * static_cast<size_t>(column.element.bytes);
}

bool is_whole(const Column& column) {
  return dtype_of(column.element) == DType::kInt64 && !column.is_image;
}

std::string place_of(const Column& column, size_t item) {
  size_t offset =
      column.offset + item * static_cast<size_t>(column.element.bytes);
  return fmt::format("{} of {}, row {}, offset {}", column.field, column.file,
                     item / row_items(column), offset);
}

int64_t item_of(const Column& column, size_t item) {
  int64_t value = 0;
  size_t offset = item * static_cast<size_t>(column.element.bytes);
  read_elements(column.element, column.bytes.data() + offset, 1,
                reinterpret_cast<std::byte*>(&value));
  return value;
}

// Reads all of a column of whole numbers.
int64_t classes_of(const std::string& who, const Column& column,
                   int64_t classes) {
  size_t items =
      column.bytes.size() / static_cast<size_t>(column.element.bytes);
  int64_t least = 0, most = 0;
  for (size_t i = 0; i < items; ++i) {
    int64_t value = item_of(column, i);
    if (value < 0 && column.element.kind == Element::Kind::kUnsigned) {
      fail_world("[{}] expected a number below 2^63, got more ({})", who,
                 place_of(column, i));
    }
    if (classes > 0 && (value < 0 || value >= classes)) {
      fail_world("[{}] expected a class from 0 to {}, got {} ({})", who,
                 classes - 1, value, place_of(column, i));
    }
    least = std::min(least, value);
    most = std::max(most, value);
  }
  if (classes > 0) return classes;
  bool are_classes = least >= 0 && most < std::numeric_limits<int64_t>::max();
  return are_classes ? most + 1 : 0;
}

void check_column(const std::string& who, const Column& column) {
  if (column.shape.empty() ||
      tensor_bytes(column.element, column.shape) != column.bytes.size()) {
    fail_world("[{}] expected rows, got {} of {} bytes ({} of {})", who,
               shape_text(column.shape), column.bytes.size(), column.field,
               column.file);
  }
  if (column.shape[0] == 0 || column.bytes.empty()) {
    fail_world("[{}] expected at least one sample, got shape {} ({} of {})",
               who, shape_text(column.shape), column.field, column.file);
  }
}

void check_lengths(const std::string& who, const std::vector<Column>& columns) {
  for (const Column& column : columns) {
    check_column(who, column);
    const Column& first = columns.front();
    if (column.shape[0] == first.shape[0]) continue;
    fail_world("[{}] expected {} rows as '{}' has, got {} ({} of {})", who,
               first.shape[0], first.field, column.shape[0], column.field,
               column.file);
  }
}

Field field_of(const std::string& who, const Column& column, int64_t classes) {
  Field field{column.field, dtype_of(column.element), sample_shape(column)};
  if (column.is_image) field.dtype = DType::kFloat32;
  bool is_float = is_floating(field.dtype);
  field.is_checked = !is_float || column.is_image || column.is_finite;
  if (column.classes > 0) classes = column.classes;
  if (is_whole(column)) field.classes = classes_of(who, column, classes);
  field.class_names = column.class_names;
  field.table = column.table;
  return field;
}

std::vector<Field> fields_of(const std::string& who,
                             const std::vector<Column>& columns,
                             int64_t classes) {
  std::vector<Field> fields;
  for (const Column& column : columns) {
    fields.push_back(field_of(who, column, classes));
  }
  return fields;
}

class Rows : public Dataset {
 public:
  // The columns are checked.
  Rows(const std::string& who, std::vector<Column> columns, int64_t classes,
       Keeper keeper)
      : Dataset(columns[0].file, fields_of(who, columns, classes),
                columns[0].shape[0]),
        columns_(std::move(columns)),
        keeper_(std::move(keeper)) {}

  void read(int64_t index, const Draw&,
            std::span<std::byte* const> out) const override {
    for (size_t f = 0; f < columns_.size(); ++f) {
      const Column& column = columns_[f];
      const std::byte* from =
          column.bytes.data() + static_cast<size_t>(index) * row_bytes(column);
      if (column.is_image) {
        read_pixels(from, row_items(column), out[f]);
      } else {
        read_elements(column.element, from, row_items(column), out[f]);
      }
    }
  }
  std::string place(size_t field, int64_t index) const override {
    const Column& column = columns_[field];
    if (!column.lines.empty()) {
      return fmt::format("line {} of {}",
                         column.lines[static_cast<size_t>(index)], column.file);
    }
    return fmt::format("row {} of {}", index, column.file);
  }

  void check() const override { keeper_.check(); }

 private:
  std::vector<Column> columns_;
  Keeper keeper_;
};

}  // namespace

bool looks_like_image(const Column& column) {
  return column.element == kByte && column.shape.size() >= 3;
}

DatasetPtr rows_dataset(const std::string& who, std::vector<Column> columns,
                        int64_t classes, Keeper keeper) {
  if (columns.empty()) fail_usage("[{}] expected a tensor, got none", who);
  check_lengths(who, columns);
  return std::make_shared<Rows>(who, std::move(columns), classes,
                                std::move(keeper));
}

Option classes_option() {
  return {"classes", Option::Kind::kCount, "0",
          "whole numbers must be below; 0: one more than the largest"};
}

Option pixels_option() {
  return {"pixels", Option::Kind::kFlag, "true",
          "bytes with two or more dimensions per sample are pixels and become "
          "f32 from 0 to 1"};
}

void apply_pixels(const Options& options, std::vector<Column>& columns) {
  for (Column& column : columns) {
    column.is_image = options.flag("pixels") && looks_like_image(column);
  }
}

}  // namespace braid::data
