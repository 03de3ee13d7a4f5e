// Floats of two bytes: f16 (IEEE half) and bf16 (the upper half of an f32).
// Kernels have their own; this is for single numbers on the host.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "braid/base/dtype.h"

namespace braid {

inline float bf16_value(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

// Multiplying moves the exponent to its place and makes small numbers normal.
inline float f16_value(uint16_t bits) {
  uint32_t magnitude = (bits & 0x7FFFU) << 13;
  uint32_t sign = (bits & 0x8000U) << 16;
  bool is_finite = (bits & 0x7C00U) != 0x7C00U;
  uint32_t value = is_finite ? std::bit_cast<uint32_t>(
                                   std::bit_cast<float>(magnitude) * 0x1.0p112F)
                             : magnitude | 0x7F800000U;
  return std::bit_cast<float>(value | sign);
}

// The nearest bits; of two equally near ones the even ones.
uint16_t bf16_bits(float value);
uint16_t f16_bits(float value);

// A number that lies in memory as any type but a complex one, which is
// std::invalid_argument. It need not be aligned.
double number_at(const std::byte* data, DType dtype);

}  // namespace braid
