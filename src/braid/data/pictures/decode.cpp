#include <algorithm>
#include <array>

#include "braid/base/error.h"
#include "braid/data/pictures/decoders.h"

namespace braid::data {
namespace {

bool starts_with(io::Bytes file, std::initializer_list<unsigned> bytes) {
  return file.size() >= bytes.size() &&
         std::ranges::equal(
             bytes, file.first(bytes.size()), {}, {},
             [](std::byte b) { return std::to_integer<unsigned>(b); });
}

}  // namespace

bool has_picture_decoders() { return true; }

Picture decode_picture(io::Bytes file, std::string_view name) {
  if (starts_with(file, {0x89, 'P', 'N', 'G'})) return decode_png(file, name);
  if (starts_with(file, {0xFF, 0xD8, 0xFF})) return decode_jpeg(file, name);
  fail_world(
      "[data.images] expected a PNG or JPEG file, got something else "
      "({}, offset 0)",
      name);
}

void check_picture_size(int64_t height, int64_t width, std::string_view name) {
  bool fits = height > 0 && width > 0 && height <= kMaxPixels / width;
  if (fits) return;
  fail_world("[data.images] expected at most {} pixels, got {} x {} ({})",
             kMaxPixels, height, width, name);
}

}  // namespace braid::data
