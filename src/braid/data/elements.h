// Numbers as files store them, and as samples give them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "braid/base/dtype.h"
#include "braid/base/shape.h"

namespace braid::data {

// The type of a number in a file.
struct Element {
  enum class Kind { kBool, kUnsigned, kSigned, kFloat, kBrainFloat };
  Kind kind = Kind::kUnsigned;
  int bytes = 1;
  bool big_endian = false;

  bool operator==(const Element&) const = default;
};

inline constexpr Element kByte = {};

// As memory and safetensors files hold it; nothing for complex numbers.
std::optional<Element> element_of(DType dtype);

// "u16", "f32 (big-endian)"
std::string element_text(Element element);

// What samples give: integers as i64, short floats as f32, others unchanged.
DType dtype_of(Element element);

// Bytes of a tensor in a file; nothing when they are too many to count.
std::optional<size_t> tensor_bytes(Element element, const Shape& shape);

// Converts `count` numbers, which need not be aligned, to dtype_of(element).
void read_elements(Element element, const std::byte* from, size_t count,
                   std::byte* out);

// Bytes to numbers from 0 to 1.
void read_pixels(const std::byte* from, size_t count, std::byte* out);

}  // namespace braid::data
