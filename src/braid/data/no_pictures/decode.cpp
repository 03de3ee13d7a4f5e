// A build without libpng and libjpeg.
#include "braid/base/error.h"
#include "braid/data/picture.h"

namespace braid::data {

bool has_picture_decoders() { return false; }

Picture decode_picture(io::Bytes, std::string_view name) {
  fail_world("[data.images] cannot decode '{}': built without PNG and JPEG",
             name);
}

}  // namespace braid::data
