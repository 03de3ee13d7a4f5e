// AppendFile: a file that grows by whole pieces.
#pragma once

#include <filesystem>
#include <mutex>

#include "braid/io/file/file.h"

namespace braid::io {

// Opens or creates the file. One object at a time may write to it; its calls
// are thread-safe.
class AppendFile {
 public:
  explicit AppendFile(std::filesystem::path path);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  // One write() to the system, so a process killed later has left it whole.
  // Throws when it does not fit on the disk; the file is then as before.
  void append(std::string_view piece);

  // Blocks until everything is on the disk.
  void sync();

  const std::filesystem::path& path() const { return path_; }

 private:
  void take_back(size_t bytes);

  std::filesystem::path path_;
  int descriptor_;
  std::mutex mutex_;
};

}  // namespace braid::io
