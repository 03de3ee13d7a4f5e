// Cyclic sums by tables, for any polynomial.
#pragma once

#include <array>
#include <cstdint>

#include "braid/io/file/file.h"

namespace braid::io {

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

uint32_t crc_of(const CrcTable& table, Bytes bytes, uint32_t before);

}  // namespace braid::io
