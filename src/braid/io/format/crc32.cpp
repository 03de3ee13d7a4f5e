#include "braid/io/format/crc32.h"

#include <array>
#include <bit>
#include <cstring>

static_assert(std::endian::native == std::endian::little,
              "eight bytes at a time are taken as a little-endian number");

namespace braid::io {
namespace {

// Row k is the sum of a byte that k zero bytes follow, so eight bytes need
// eight look-ups that do not wait for each other.
constexpr size_t kRows = 8;
using Table = std::array<std::array<uint32_t, 256>, kRows>;

constexpr uint32_t sum_of_byte(uint32_t value, uint32_t polynomial) {
  for (int bit = 0; bit < 8; ++bit) {
    value = value & 1 ? polynomial ^ (value >> 1) : value >> 1;
  }
  return value;
}

constexpr Table make_table(uint32_t polynomial) {
  Table table = {};
  for (uint32_t i = 0; i < 256; ++i) table[0][i] = sum_of_byte(i, polynomial);
  for (size_t row = 1; row < kRows; ++row) {
    for (size_t i = 0; i < 256; ++i) {
      uint32_t value = table[row - 1][i];
      table[row][i] = table[0][value & 0xff] ^ value >> 8;
    }
  }
  return table;
}

constexpr Table kCrc32 = make_table(0xedb88320);
constexpr Table kCrc32c = make_table(0x82f63b78);

uint32_t add_eight(const Table& table, Bytes bytes, uint32_t sum) {
  uint64_t word = 0;
  std::memcpy(&word, bytes.data(), kRows);
  word ^= sum;
  uint32_t result = 0;
  for (size_t i = 0; i < kRows; ++i) {
    result ^= table[kRows - 1 - i][word >> (8 * i) & 0xff];
  }
  return result;
}

uint32_t add_bytes(const Table& table, Bytes bytes, uint32_t before) {
  uint32_t sum = ~before;
  for (; bytes.size() >= kRows; bytes = bytes.subspan(kRows)) {
    sum = add_eight(table, bytes, sum);
  }
  for (std::byte byte : bytes) {
    sum = table[0][(sum ^ std::to_integer<uint32_t>(byte)) & 0xff] ^ sum >> 8;
  }
  return ~sum;
}

}  // namespace

uint32_t crc32(Bytes bytes, uint32_t before) {
  return add_bytes(kCrc32, bytes, before);
}

uint32_t crc32c(Bytes bytes, uint32_t before) {
  return add_bytes(kCrc32c, bytes, before);
}

}  // namespace braid::io
