// The end of a zip file, which says where the directory is.
#pragma once

#include <cstdint>
#include <string_view>

#include "braid/io/file/file.h"

namespace braid::io {

constexpr uint64_t kZipRecordBytes = 46;  // of the directory, at least

struct ZipEnd {
  uint64_t begin = 0;  // of the first end record
  uint64_t entries = 0, directory = 0, directory_bytes = 0;
};

// The directory is known to lie right before the end records, to be whole and
// to have room for at most that many entries. Throws when there is no such
// end; `name` stands for the file.
ZipEnd find_zip_end(Bytes file, std::string_view name, uint64_t max_entries);

}  // namespace braid::io
