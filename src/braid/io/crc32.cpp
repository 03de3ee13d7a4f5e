#include "braid/io/crc32.h"

#include <array>

namespace braid::io {
namespace {

constexpr std::array<uint32_t, 256> make_crc_table() {
  std::array<uint32_t, 256> table = {};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) {
      value = value & 1 ? 0xedb88320 ^ (value >> 1) : value >> 1;
    }
    table[i] = value;
  }
  return table;
}

constexpr std::array<uint32_t, 256> kCrcTable = make_crc_table();

}  // namespace

uint32_t crc32(Bytes bytes) {
  uint32_t sum = 0xffffffff;
  for (std::byte byte : bytes) {
    sum = kCrcTable[(sum ^ std::to_integer<uint32_t>(byte)) & 0xff] ^ sum >> 8;
  }
  return ~sum;
}

}  // namespace braid::io
