#include "braid/data/file_cursor.h"

namespace braid::data {

io::Bytes FileCursor::take(size_t count, std::string_view what) {
  if (count > left()) {
    fail(offset_, fmt::format("{} bytes of {}", count, what),
         fmt::format("{}", left()), "the file is cut short");
  }
  io::Bytes taken = bytes_.subspan(offset_, count);
  offset_ += count;
  return taken;
}

uint8_t FileCursor::byte(std::string_view what) {
  return std::to_integer<uint8_t>(take(1, what)[0]);
}

uint64_t FileCursor::big_endian(size_t count, std::string_view what) {
  uint64_t number = 0;
  for (std::byte byte : take(count, what)) {
    number = number << 8 | std::to_integer<uint64_t>(byte);
  }
  return number;
}

uint64_t FileCursor::little_endian(size_t count, std::string_view what) {
  uint64_t number = 0;
  unsigned shift = 0;
  for (std::byte byte : take(count, what)) {
    number |= std::to_integer<uint64_t>(byte) << shift;
    shift += 8;
  }
  return number;
}

void FileCursor::fail(size_t offset, std::string_view expected,
                      std::string_view got, std::string_view hint) const {
  fail_world("[{}] expected {}, got {} ({}, offset {}){}{}", who_, expected,
             got, path_, offset, hint.empty() ? "" : "\nHINT: ", hint);
}

void FileCursor::refuse_gzip() const {
  bool is_gzip = bytes_.size() >= 2 && bytes_[0] == std::byte{0x1F} &&
                 bytes_[1] == std::byte{0x8B};
  if (is_gzip) {
    fail(0, "a plain file", "a gzip one", fmt::format("gunzip {}", path_));
  }
}

}  // namespace braid::data
