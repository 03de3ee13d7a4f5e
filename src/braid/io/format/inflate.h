// Unpacks what deflate has packed (RFC 1951), as in entries of zip files.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "braid/io/file/file.h"

namespace braid::io {

// Whether this build can: it needs zlib.
bool can_inflate();

// Exactly `whole_bytes`; anything else is std::runtime_error, also a size that
// so few bytes cannot unpack to. `name` stands for the content in errors.
std::vector<std::byte> inflate(Bytes packed, uint64_t whole_bytes,
                               std::string_view name);

}  // namespace braid::io
