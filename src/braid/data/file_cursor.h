// Reading a file of numbers from front to back, trusting nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "braid/base/error.h"
#include "braid/io/file/file.h"

namespace braid::data {

// The bytes of a file and a place in them. Whatever is asked for is checked;
// errors name the file and the place.
class FileCursor {
 public:
  // `who` begins errors: "data.idx". The bytes are borrowed.
  FileCursor(io::Bytes bytes, std::string who, std::string path)
      : bytes_(bytes), who_(std::move(who)), path_(std::move(path)) {}

  size_t offset() const { return offset_; }
  size_t left() const { return bytes_.size() - offset_; }
  const std::string& path() const { return path_; }
  const std::string& who() const { return who_; }

  // The next bytes, or an error that says what they should have been.
  io::Bytes take(size_t count, std::string_view what);
  uint8_t byte(std::string_view what);
  // A whole number of `count` bytes, the highest first or last.
  uint64_t big_endian(size_t count, std::string_view what);
  uint64_t little_endian(size_t count, std::string_view what);

  // Throws "[who] expected ..., got ... (path, offset n)".
  [[noreturn]] void fail(size_t offset, std::string_view expected,
                         std::string_view got,
                         std::string_view hint = "") const;

  // A gzip file is refused with the hint to unpack it.
  void refuse_gzip() const;

 private:
  io::Bytes bytes_;
  std::string who_;
  std::string path_;
  size_t offset_ = 0;
};

}  // namespace braid::data
