#include "braid/io/format/crc32.h"

#include "braid/base/crc.h"

namespace braid::io {
namespace {

constexpr CrcTable kCrc32 = make_crc_table(0xedb88320);

}  // namespace

uint32_t crc32(Bytes bytes, uint32_t before) {
  return crc_of(kCrc32, bytes, before);
}

}  // namespace braid::io
