// NewFile: a file that is written piece by piece and appears when it is whole.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "braid/io/file/file.h"

namespace braid::io {

// As write_file_atomically(), for content that does not lie in memory at once.
// Without finish() nothing appears, and what stood there stays. A device or a
// pipe gets each piece at once. One thread.
class NewFile {
 public:
  // Throws as write_file_atomically() does.
  explicit NewFile(const std::filesystem::path& path);
  ~NewFile();
  NewFile(NewFile&&) noexcept;
  NewFile& operator=(NewFile&&) noexcept;

  // Whether pieces may come in any order: not of a device or a pipe.
  bool takes_any_order() const;

  // After what was appended before.
  void append(Bytes bytes);
  void append(std::string_view text);
  // At that place of the file.
  void write_at(uint64_t offset, Bytes bytes);

  // Blocks until the content and the name are on the disk. Without that it is
  // whole for whoever looks, and may be lost when the machine fails.
  void finish(bool syncs = true);

 private:
  struct Open;
  std::unique_ptr<Open> open_;
};

}  // namespace braid::io
