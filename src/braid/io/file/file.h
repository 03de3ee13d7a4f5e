// Files: read by mapping, written all or nothing.
//
// A writer never touches the file that readers see: it fills a temporary file
// in the same directory, brings it to the disk and renames it. After a crash
// the old content or the new one is there, never a part. A process killed in
// between may leave a file `.braid-tmp-*`; it is safe to delete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace braid::io {

using Bytes = std::span<const std::byte>;

// A regular file mapped read-only; an empty file gives empty bytes. The bytes
// stay where they are when the object moves. If another process shortens the
// file meanwhile, the lost part reads as zeros: call check() before what was
// read is used. Reading and check() are thread-safe.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);

  // Nothing when there is no such file; other failures throw.
  static std::optional<MappedFile> open_if_exists(
      const std::filesystem::path& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  Bytes bytes() const { return bytes_; }

  // Throws std::runtime_error that names the file when it has become shorter
  // since it was opened, or a part of it could not be read.
  void check() const;

 private:
  struct Mapping;
  explicit MappedFile(std::unique_ptr<Mapping> mapping);

  std::unique_ptr<Mapping> mapping_;
  Bytes bytes_;
};

// By what a content is known again.
struct FileSum {
  uint64_t bytes = 0;
  uint32_t crc32 = 0;
  bool operator==(const FileSum&) const = default;
};

// Replaces or creates the file with the pieces one after the other. Blocks
// until the content and the name are on the disk. Returns the sum of what was
// given, whatever the disk made of it. A link is followed, and a device or pipe
// is written to as it is; see write_target.h for what is refused.
FileSum write_file_atomically(const std::filesystem::path& path,
                              std::span<const Bytes> pieces);
FileSum write_file_atomically(const std::filesystem::path& path,
                              std::string_view text);

// Reads the whole file; blocks. Nothing when there is no such regular file or
// the disk has lost a part of it; throws when it may not be read.
std::optional<FileSum> sum_file(const std::filesystem::path& path);

// Blocks until the names in the directory are on the disk.
void sync_directory(const std::filesystem::path& directory);

// Throws "[where] what 'path': text of the errno" with a hint that fits.
[[noreturn]] void fail_file(std::string_view where, std::string_view what,
                            const std::filesystem::path& path, int error);

}  // namespace braid::io
