// Writes PNG files for tests, without compression: every part of the format
// that a reader needs, and each can be made wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "braid/io/format/crc32.h"
#include "data/files.h"

namespace braid::data {

inline std::string png_chunk(const std::string& type, const std::string& data) {
  std::string checked = type + data;
  return big_endian(data.size(), 4) + checked +
         big_endian(io::crc32(io::bytes_of(checked)), 4);
}

// zlib with one stored block.
inline std::string zlib_stored(const std::string& data) {
  uint32_t a = 1, b = 0;
  for (char c : data) {
    a = (a + static_cast<unsigned char>(c)) % 65521;
    b = (b + a) % 65521;
  }
  return "\x78\x01\x01" + little_endian(data.size(), 2) +
         little_endian(~data.size(), 2) + data + big_endian(b << 16 | a, 4);
}

// Colour types: 0 grey, 2 RGB, 4 grey and alpha, 6 RGBA; 8 bits each. `rows`
// holds the pixels of all rows; each is written with filter 0.
inline std::string png_text(uint32_t height, uint32_t width, char colour,
                            const std::string& rows) {
  std::string scanlines;
  size_t row_bytes = rows.size() / height;
  for (uint32_t y = 0; y < height; ++y) {
    scanlines += '\0' + rows.substr(y * row_bytes, row_bytes);
  }
  std::string header = big_endian(width, 4) + big_endian(height, 4) +
                       std::string{8, colour, 0, 0, 0};
  return "\x89PNG\r\n\x1A\n" + png_chunk("IHDR", header) +
         png_chunk("IDAT", zlib_stored(scanlines)) + png_chunk("IEND", "");
}

}  // namespace braid::data
