// The checksum of zip files.
#pragma once

#include <cstdint>

#include "braid/io/file.h"

namespace braid::io {

uint32_t crc32(Bytes bytes);

}  // namespace braid::io
