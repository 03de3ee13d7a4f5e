// Characters as numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "braid/io/file/file.h"

namespace braid::data {

// The code points of UTF-8; anything else is an error with file and offset.
std::u32string decode_utf8(io::Bytes bytes, std::string_view who,
                           std::string_view file);

// The same check, with nothing kept.
void check_utf8(io::Bytes bytes, std::string_view who, std::string_view file);

// The different characters of a text, numbered by code point.
class Vocabulary {
 public:
  explicit Vocabulary(std::u32string_view text);
  // Those of a vocabulary before, by names().
  Vocabulary(const std::vector<std::string>& names, std::string_view who);

  int64_t size() const { return static_cast<int64_t>(characters_.size()); }
  const std::vector<char32_t>& characters() const { return characters_; }

  // "U+0041"
  std::vector<std::string> names() const;

  // The number of every character. One that is not known is std::runtime_error
  // with its place in the file.
  std::vector<uint32_t> encode(std::u32string_view text, std::string_view who,
                               std::string_view file) const;

 private:
  std::vector<char32_t> characters_;  // in order
};

}  // namespace braid::data
