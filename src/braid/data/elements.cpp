#include "braid/data/elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "braid/base/narrow_float.h"

namespace braid::data {
namespace {

using Kind = Element::Kind;

struct Half {
  uint16_t bits;
};
struct Brain {
  uint16_t bits;
};

template <class T>
T load(const std::byte* from, bool big_endian) {
  std::array<std::byte, sizeof(T)> bytes;
  std::memcpy(bytes.data(), from, sizeof(T));
  if (big_endian) std::ranges::reverse(bytes);
  return std::bit_cast<T>(bytes);
}

float value_of(Brain brain) { return bf16_value(brain.bits); }

float value_of(Half half) { return f16_value(half.bits); }

template <class T>
T value_of(T number) {
  return number;
}

template <class Stored, class Given>
void convert(Element element, const std::byte* from, size_t count,
             std::byte* out) {
  for (size_t i = 0; i < count; ++i) {
    auto value = static_cast<Given>(
        value_of(load<Stored>(from + i * sizeof(Stored), element.big_endian)));
    std::memcpy(out + i * sizeof(Given), &value, sizeof(Given));
  }
}

using Convert = void (*)(Element, const std::byte*, size_t, std::byte*);

Convert float_conversion(int bytes) {
  switch (bytes) {
    case 2: return convert<Half, float>;
    case 4: return convert<float, float>;
    default: return convert<double, double>;
  }
}

Convert signed_conversion(int bytes) {
  switch (bytes) {
    case 1: return convert<int8_t, int64_t>;
    case 2: return convert<int16_t, int64_t>;
    case 4: return convert<int32_t, int64_t>;
    default: return convert<int64_t, int64_t>;
  }
}

Convert unsigned_conversion(int bytes) {
  switch (bytes) {
    case 1: return convert<uint8_t, int64_t>;
    case 2: return convert<uint16_t, int64_t>;
    case 4: return convert<uint32_t, int64_t>;
    default: return convert<uint64_t, int64_t>;
  }
}

Convert conversion(Element element) {
  switch (element.kind) {
    case Kind::kFloat: return float_conversion(element.bytes);
    case Kind::kBrainFloat: return convert<Brain, float>;
    case Kind::kSigned: return signed_conversion(element.bytes);
    case Kind::kUnsigned: return unsigned_conversion(element.bytes);
    // Any byte but 0 is true; a bool of another value is undefined.
    case Kind::kBool:
      return [](Element, const std::byte* from, size_t count, std::byte* out) {
        for (size_t i = 0; i < count; ++i)
          out[i] = std::byte{from[i] != std::byte{0}};
      };
  }
  return nullptr;
}

}  // namespace

std::optional<Element> element_of(DType dtype) {
  auto bytes = static_cast<int>(item_bytes(dtype));
  if (is_complex(dtype)) return std::nullopt;
  if (dtype == DType::kBool) return Element{Kind::kBool, bytes};
  if (dtype == DType::kUInt8) return Element{Kind::kUnsigned, bytes};
  if (dtype == DType::kBFloat16) return Element{Kind::kBrainFloat, bytes};
  return Element{is_floating(dtype) ? Kind::kFloat : Kind::kSigned, bytes};
}

std::string element_text(Element element) {
  constexpr std::array<std::string_view, 5> kNames = {"bool", "u", "i", "f",
                                                      "bf"};
  std::string text(kNames[static_cast<size_t>(element.kind)]);
  if (element.kind != Kind::kBool) text += std::to_string(8 * element.bytes);
  return element.big_endian ? text + " (big-endian)" : text;
}

DType dtype_of(Element element) {
  switch (element.kind) {
    case Kind::kBool: return DType::kBool;
    case Kind::kUnsigned:
    case Kind::kSigned: return DType::kInt64;
    case Kind::kBrainFloat: return DType::kFloat32;
    case Kind::kFloat:
      return element.bytes == 8 ? DType::kFloat64 : DType::kFloat32;
  }
  return DType::kFloat32;
}

std::optional<size_t> tensor_bytes(Element element, const Shape& shape) {
  int64_t bytes = element.bytes;
  for (int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes)) {
      return std::nullopt;
    }
  }
  return static_cast<size_t>(bytes);
}

void read_elements(Element element, const std::byte* from, size_t count,
                   std::byte* out) {
  conversion(element)(element, from, count, out);
}

void read_pixels(const std::byte* from, size_t count, std::byte* out) {
  for (size_t i = 0; i < count; ++i) {
    float value = static_cast<float>(from[i]) / 255.0F;
    std::memcpy(out + i * sizeof value, &value, sizeof value);
  }
}

}  // namespace braid::data
