// zlib's sum is some 2.5 times as fast as one by tables.
#include "braid/io/format/crc32.h"

#include <zlib.h>

namespace braid::io {

uint32_t crc32(Bytes bytes, uint32_t before) {
  const auto* begin = reinterpret_cast<const Bytef*>(bytes.data());
  return static_cast<uint32_t>(::crc32_z(before, begin, bytes.size()));
}

}  // namespace braid::io
