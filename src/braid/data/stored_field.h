// StoredField: a tensor whose rows are read one by one, and how its bytes
// become those of a sample.
#pragma once

#include <functional>
#include <string>

#include "braid/data/dataset.h"
#include "braid/data/elements.h"

namespace braid::data {

struct StoredField {
  std::string name;
  Element element;
  Shape shape;            // of one sample
  bool is_image = false;  // bytes that become f32 from 0 to 1

  size_t items() const { return static_cast<size_t>(num_elements(shape)); }
  // Of one sample as it is stored.
  size_t bytes() const { return items() * static_cast<size_t>(element.bytes); }
  // Whether a sample has these very bytes.
  bool is_plain() const;
};

// "x f32 [3, 4]"
std::string stored_text(const StoredField& field);

// Bytes with two or more dimensions are pixels if those are wanted.
bool looks_like_pixels(const StoredField& field);

// The field of the samples; `classes` of whole numbers, 0: not known.
Field sample_field(const StoredField& field, int64_t classes);

// Converts one sample; `from` need not be aligned.
void read_stored(const StoredField& field, const std::byte* from,
                 std::byte* out);

// Whole numbers of a sample that was read must be below `classes`, if that is
// not 0, and fit an i64. Errors begin with `who` and name the place.
void check_wholes(const std::string& who, const StoredField& field,
                  int64_t classes, const std::byte* sample,
                  const std::function<std::string()>& place);

}  // namespace braid::data
