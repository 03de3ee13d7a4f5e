#include "braid/data/stored_field.h"

#include "braid/base/error.h"
#include "braid/base/printable.h"

namespace braid::data {
namespace {

bool is_whole(const StoredField& field) {
  return dtype_of(field.element) == DType::kInt64 && !field.is_image;
}

}  // namespace

bool StoredField::is_plain() const {
  bool has_width = element.bytes == item_bytes(dtype_of(element));
  return !is_image && has_width && !element.big_endian &&
         element.kind != Element::Kind::kBool;
}

std::string stored_text(const StoredField& field) {
  return fmt::format("{} {} {}", printable(field.name),
                     element_text(field.element), shape_text(field.shape));
}

bool looks_like_pixels(const StoredField& field) {
  return field.element == kByte && field.shape.size() >= 2;
}

Field sample_field(const StoredField& field, int64_t classes) {
  Field given{field.name, dtype_of(field.element), field.shape};
  if (field.is_image) given.dtype = DType::kFloat32;
  if (is_whole(field)) given.classes = classes;
  given.is_checked = !is_floating(given.dtype) || field.is_image;
  return given;
}

void read_stored(const StoredField& field, const std::byte* from,
                 std::byte* out) {
  if (field.is_image) {
    read_pixels(from, field.items(), out);
  } else {
    read_elements(field.element, from, field.items(), out);
  }
}

void check_wholes(const std::string& who, const StoredField& field,
                  int64_t classes, const std::byte* sample,
                  const std::function<std::string()>& place) {
  if (!is_whole(field)) return;
  bool is_unsigned = field.element.kind == Element::Kind::kUnsigned;
  std::span numbers(reinterpret_cast<const int64_t*>(sample), field.items());
  for (int64_t number : numbers) {
    if (number < 0 && is_unsigned) {
      fail_world("[{}] expected a number below 2^63, got more ({}, {})", who,
                 field.name, place());
    }
    if (classes == 0 || (number >= 0 && number < classes)) continue;
    fail_world("[{}] expected a class from 0 to {}, got {} ({}, {})", who,
               classes - 1, number, field.name, place());
  }
}

}  // namespace braid::data
