// The two decoders, and what both check.
#pragma once

#include <string_view>

#include "braid/data/picture.h"

namespace braid::data {

Picture decode_png(io::Bytes file, std::string_view name);
Picture decode_jpeg(io::Bytes file, std::string_view name);

// Refuses a size that is no picture's.
void check_picture_size(int64_t height, int64_t width, std::string_view name);

}  // namespace braid::data
