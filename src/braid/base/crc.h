// Cyclic sums by tables, for any polynomial, and CRC-32C: of records of event
// files, and of what lies in a file instead of memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace braid {

// Row k is the sum of a byte that k zero bytes follow, so eight bytes need
// eight look-ups that do not wait for each other.
inline constexpr size_t kCrcRows = 8;
using CrcTable = std::array<std::array<uint32_t, 256>, kCrcRows>;

constexpr uint32_t crc_of_byte(uint32_t value, uint32_t polynomial) {
  for (int bit = 0; bit < 8; ++bit) {
    value = value & 1 ? polynomial ^ (value >> 1) : value >> 1;
  }
  return value;
}

constexpr CrcTable make_crc_table(uint32_t polynomial) {
  CrcTable table = {};
  for (uint32_t i = 0; i < 256; ++i) table[0][i] = crc_of_byte(i, polynomial);
  for (size_t row = 1; row < kCrcRows; ++row) {
    for (size_t i = 0; i < 256; ++i) {
      uint32_t value = table[row - 1][i];
      table[row][i] = table[0][value & 0xff] ^ value >> 8;
    }
  }
  return table;
}

// `before` is the sum of what comes before these bytes: a long content may be
// summed piece by piece.
uint32_t crc_of(const CrcTable& table, std::span<const std::byte> bytes,
                uint32_t before);
uint32_t crc32c(std::span<const std::byte> bytes, uint32_t before = 0);

}  // namespace braid
