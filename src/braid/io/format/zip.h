// Zip archives: where each entry's bytes are. Entries that lie in them
// uncompressed, as torch writes them, can be used in place; those that are
// packed (deflate) are refused unless the reader takes them too.
//
// Files are not trusted. The central directory is compared with the header in
// front of each entry, and whatever a second reader could see differently
// (overlaps, repeated names, two sets of sizes) is refused. Encrypted entries,
// other compressions and archives of several parts are refused too.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "braid/io/file/file.h"

namespace braid::io {

struct ZipEntry {
  std::string name;               // "net/data/weights/weight_0"
  uint64_t header = 0;            // where its header begins
  uint64_t begin = 0, bytes = 0;  // of its content, in the file
  uint32_t checksum = 0;          // CRC-32 of its content
  bool is_packed = false;         // by deflate
  uint64_t whole_bytes = 0;       // of its content once unpacked
};

enum class ZipPacking { kRefused, kTaken };

// A zip file in memory; borrows the bytes.
class ZipArchive {
 public:
  static constexpr uint64_t kMaxEntries = 100'000;

  // Throws one std::runtime_error that names all bad entries; `name` stands
  // for the file in it.
  ZipArchive(Bytes file, std::string_view name,
             ZipPacking packing = ZipPacking::kRefused);

  ZipArchive(ZipArchive&&) = default;
  ZipArchive& operator=(ZipArchive&&) = default;

  // In the order of the directory.
  const std::vector<ZipEntry>& entries() const { return entries_; }
  // The entry of that name, owned by this object, or null.
  const ZipEntry* find(std::string_view name) const;

  // As it lies in the file; of a packed entry see inflate.h.
  Bytes content(const ZipEntry& entry) const;
  // Reads the whole entry, which must not be packed.
  bool has_right_checksum(const ZipEntry& entry) const;

 private:
  Bytes file_;
  std::vector<ZipEntry> entries_;
  std::map<std::string_view, size_t> index_;  // into entries_
};

}  // namespace braid::io
