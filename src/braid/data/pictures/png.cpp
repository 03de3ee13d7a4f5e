#include <png.h>

#include "braid/base/error.h"
#include "braid/data/pictures/decoders.h"

namespace braid::data {
namespace {

// Frees what libpng holds, on every way out.
class PngImage {
 public:
  PngImage() { image_.version = PNG_IMAGE_VERSION; }
  ~PngImage() { png_image_free(&image_); }
  PngImage(const PngImage&) = delete;
  PngImage& operator=(const PngImage&) = delete;

  png_image* get() { return &image_; }
  png_image* operator->() { return &image_; }

 private:
  png_image image_ = {};
};

[[noreturn]] void fail_png(PngImage& image, std::string_view name) {
  fail_world("[data.images] cannot decode PNG '{}': {}", name, image->message);
}

// A byte of deflate makes at most 1032, and a byte holds at most 8 pixels; a
// larger claim is a lie, and nothing is allocated for it.
void check_claim(PngImage& image, size_t file_bytes, std::string_view name) {
  auto pixels = static_cast<size_t>(image->width) * image->height;
  if (pixels / (8UL * 1032) <= file_bytes) return;
  fail_world(
      "[data.images] expected a smaller size than {} x {} of a PNG of "
      "{} bytes ({})",
      image->height, image->width, file_bytes, name);
}

// Transparency is read and dropped, as people's loaders do.
std::vector<uint8_t> without_alpha(const std::vector<uint8_t>& rgba) {
  std::vector<uint8_t> rgb;
  rgb.reserve(rgba.size() / 4 * 3);
  for (size_t i = 0; i + 3 < rgba.size(); i += 4) {
    rgb.insert(rgb.end(), rgba.begin() + static_cast<std::ptrdiff_t>(i),
               rgba.begin() + static_cast<std::ptrdiff_t>(i) + 3);
  }
  return rgb;
}

}  // namespace

Picture decode_png(io::Bytes file, std::string_view name) {
  PngImage image;
  if (!png_image_begin_read_from_memory(image.get(), file.data(),
                                        file.size())) {
    fail_png(image, name);
  }
  check_picture_size(image->height, image->width, name);
  check_claim(image, file.size(), name);
  image->format = PNG_FORMAT_RGBA;
  image->flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  Picture picture{image->height, image->width, {}};
  std::vector<uint8_t> rgba(PNG_IMAGE_SIZE(*image.get()));
  if (!png_image_finish_read(image.get(), nullptr, rgba.data(), 0, nullptr)) {
    fail_png(image, name);
  }
  picture.rgb = without_alpha(rgba);
  return picture;
}

}  // namespace braid::data
