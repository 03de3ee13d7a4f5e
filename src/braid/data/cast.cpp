#include "braid/data/cast.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "braid/base/error.h"
#include "braid/data/wrapper.h"

namespace braid::data {
namespace {

template <class From, class To>
void convert(const std::vector<std::byte>& from, std::byte* to) {
  for (size_t i = 0; i < from.size() / sizeof(From); ++i) {
    From value;
    std::memcpy(&value, from.data() + i * sizeof(From), sizeof(From));
    auto cast = static_cast<To>(value);
    std::memcpy(to + i * sizeof(To), &cast, sizeof(To));
  }
}

bool changes(const Field& field, DType dtype) {
  return is_floating(field.dtype) && field.dtype != dtype;
}

std::vector<Field> cast_fields(std::vector<Field> fields, DType dtype) {
  for (Field& field : fields) {
    if (changes(field, dtype)) field.dtype = dtype;
  }
  return fields;
}

class Cast : public Wrapper {
 public:
  Cast(const DatasetPtr& dataset, DType dtype)
      : Wrapper(dataset, cast_fields(dataset->fields(), dtype),
                dataset->size()),
        dtype_(dtype) {}

  void read(int64_t index, const Draw& draw,
            std::span<std::byte* const> out) const override {
    const std::vector<Field>& from = inner().fields();
    std::vector<std::vector<std::byte>> before(from.size());
    std::vector<std::byte*> there(out.begin(), out.end());
    for (size_t f = 0; f < from.size(); ++f) {
      if (!changes(from[f], dtype_)) continue;
      before[f].resize(sample_bytes(from[f]));
      there[f] = before[f].data();
    }
    inner().read(index, draw, there);
    for (size_t f = 0; f < from.size(); ++f) {
      if (changes(from[f], dtype_)) convert_field(before[f], out[f]);
    }
  }

 private:
  void convert_field(const std::vector<std::byte>& from, std::byte* to) const {
    if (dtype_ == DType::kFloat64) {
      convert<float, double>(from, to);
    } else {
      convert<double, float>(from, to);
    }
  }

  DType dtype_;
};

bool is_known(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64;
}

}  // namespace

DatasetPtr cast_floats(DatasetPtr dataset, DType dtype) {
  if (!is_known(dtype)) {
    fail_usage("[data.cast] expected f32 or f64, got {}", dtype_name(dtype));
  }
  bool has_work = false;
  for (const Field& field : dataset->fields()) {
    has_work |= changes(field, dtype);
    if (!is_floating(field.dtype) || is_known(field.dtype)) continue;
    fail_usage("[data.cast] expected floats f32 or f64, got {} ({})",
               field_text(field), dataset->name());
  }
  if (!has_work) return dataset;
  return std::make_shared<Cast>(dataset, dtype);
}

}  // namespace braid::data
