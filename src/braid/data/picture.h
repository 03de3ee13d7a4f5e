// Pictures from PNG and JPEG files. The decoders lie in pictures/, where
// libpng and libjpeg are; no_pictures/ stands in for them elsewhere.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "braid/io/file/file.h"

namespace braid::data {

// Red, green and blue of every pixel, row by row.
struct Picture {
  int64_t height = 0;
  int64_t width = 0;
  std::vector<uint8_t> rgb;  // [height, width, 3]
};

// Larger ones are refused: their size is but a claim of the file.
inline constexpr int64_t kMaxPixels = int64_t{1} << 26;

// Whether this build can decode.
bool has_picture_decoders();

// Decodes a PNG or JPEG file by its content; `name` stands for it in errors.
// Transparency is dropped. Throws std::runtime_error for anything else, also
// for a file that is cut short. Thread-safe.
Picture decode_picture(io::Bytes file, std::string_view name);

// A square part of the picture, made `side` pixels wide and high: averages
// where it shrinks, straight lines between pixels where it grows. Channels is
// 3, or 1 for grey; out is [channels, side, side] from 0 to 1.
struct Square {
  double top = 0, left = 0, height = 0, width = 0;
};
void resize_picture(const Picture& picture, const Square& part, int64_t side,
                    int64_t channels, float* out);

}  // namespace braid::data
