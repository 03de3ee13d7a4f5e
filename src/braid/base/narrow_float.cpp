#include "braid/base/narrow_float.h"

#include <cmath>
#include <cstring>

#include "braid/base/error.h"

namespace braid {
namespace {

template <class T>
T load(const std::byte* data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

}  // namespace

uint16_t bf16_bits(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40U);
  return static_cast<uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

// Adding a power of two rounds a number to that power's last place; what is
// left below the exponent are the bits of the half.
uint16_t f16_bits(float value) {
  auto sign =
      static_cast<uint16_t>((std::bit_cast<uint32_t>(value) >> 16) & 0x8000U);
  float magnitude = std::fabs(value);
  if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7E00U);
  constexpr float kInfinite = 65520, kSmallestNormal = 0x1p-14F;
  if (magnitude >= kInfinite) return static_cast<uint16_t>(sign | 0x7C00U);
  if (magnitude < kSmallestNormal) {  // steps of 2^-24
    auto steps = std::nearbyint(magnitude * 0x1p24F);
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(steps));
  }
  auto bits = std::bit_cast<uint32_t>(magnitude);
  bits += 0xFFFU + ((bits >> 13) & 1U);
  return static_cast<uint16_t>(sign | ((bits >> 13) - (112U << 10)));
}

double number_at(const std::byte* data, DType dtype) {
  switch (dtype) {
    case DType::kBool: return data[0] != std::byte{0} ? 1 : 0;
    case DType::kUInt8: return load<uint8_t>(data);
    case DType::kInt8: return load<int8_t>(data);
    case DType::kInt16: return load<int16_t>(data);
    case DType::kInt32: return load<int32_t>(data);
    case DType::kInt64: return static_cast<double>(load<int64_t>(data));
    case DType::kFloat16: return f16_value(load<uint16_t>(data));
    case DType::kBFloat16: return bf16_value(load<uint16_t>(data));
    case DType::kFloat32: return load<float>(data);
    case DType::kFloat64: return load<double>(data);
    case DType::kComplex64:
    case DType::kComplex128: break;
  }
  fail_usage("[number] expected a real number, got {}", dtype_name(dtype));
}

}  // namespace braid
