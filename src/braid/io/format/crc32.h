// Checksums: CRC-32 of zip files and checkpoints, CRC-32C of event files.
#pragma once

#include <cstdint>

#include "braid/base/crc.h"
#include "braid/io/file/file.h"

namespace braid::io {

// `before` is the sum of what comes before these bytes: a long content may be
// summed piece by piece.
uint32_t crc32(Bytes bytes, uint32_t before = 0);
using braid::crc32c;

}  // namespace braid::io
