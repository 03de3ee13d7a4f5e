// Element types of values and slots.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace braid {

enum class DType : uint8_t {
  kBool,
  kUInt8,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kComplex64,
  kComplex128,
};

// Bytes of one element.
int64_t item_bytes(DType dtype);

bool is_floating(DType dtype);
bool is_complex(DType dtype);

// Whether gradients flow through values of this type.
inline bool is_differentiable(DType dtype) {
  return is_floating(dtype) || is_complex(dtype);
}

// The short name of the text form: "f32", "i64", "bool", ...
std::string_view dtype_name(DType dtype);

// The type of a short name, or nothing.
std::optional<DType> find_dtype(std::string_view name);

}  // namespace braid
