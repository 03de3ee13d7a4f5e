#include "braid/base/crc.h"

#include <bit>
#include <cstring>

static_assert(std::endian::native == std::endian::little,
              "eight bytes at a time are taken as a little-endian number");

namespace braid {
namespace {

constexpr CrcTable kCrc32c = make_crc_table(0x82f63b78);

uint32_t add_eight(const CrcTable& table, std::span<const std::byte> bytes,
                   uint32_t sum) {
  uint64_t word = 0;
  std::memcpy(&word, bytes.data(), kCrcRows);
  word ^= sum;
  uint32_t result = 0;
  for (size_t i = 0; i < kCrcRows; ++i) {
    result ^= table[kCrcRows - 1 - i][word >> (8 * i) & 0xff];
  }
  return result;
}

}  // namespace

uint32_t crc_of(const CrcTable& table, std::span<const std::byte> bytes,
                uint32_t before) {
  uint32_t sum = ~before;
  for (; bytes.size() >= kCrcRows; bytes = bytes.subspan(kCrcRows)) {
    sum = add_eight(table, bytes, sum);
  }
  for (std::byte byte : bytes) {
    sum = table[0][(sum ^ std::to_integer<uint32_t>(byte)) & 0xff] ^ sum >> 8;
  }
  return ~sum;
}

uint32_t crc32c(std::span<const std::byte> bytes, uint32_t before) {
  return crc_of(kCrc32c, bytes, before);
}

}  // namespace braid
