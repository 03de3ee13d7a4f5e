// Numbers in the records of a zip file.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>

#include "braid/io/file/file.h"

namespace braid::io {

// `bytes` at `begin`, or nothing when they leave the file.
inline std::optional<Bytes> part_of(Bytes file, uint64_t begin,
                                    uint64_t bytes) {
  if (begin > file.size() || bytes > file.size() - begin) return std::nullopt;
  return file.subspan(begin, bytes);
}

// Little-endian numbers one after the other; the caller checked the length.
class ZipFields {
 public:
  explicit ZipFields(Bytes bytes) : bytes_(bytes) {}
  uint16_t u16() { return take<uint16_t>(); }
  uint32_t u32() { return take<uint32_t>(); }
  uint64_t u64() { return take<uint64_t>(); }
  void skip(size_t count) { bytes_ = bytes_.subspan(count); }
  size_t left() const { return bytes_.size(); }

 private:
  template <class T>
  T take() {
    T value = 0;
    std::memcpy(&value, bytes_.data(), sizeof(T));
    skip(sizeof(T));
    return value;
  }

  Bytes bytes_;
};

}  // namespace braid::io
