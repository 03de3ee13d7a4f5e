// DirectoryLock: one process at a time writes to a directory.
//
// The lock lies on the directory itself, so there is no lock file to be left
// behind: it ends with the object, or with the process however that dies.
#pragma once

#include <filesystem>
#include <optional>

namespace braid::io {

class DirectoryLock {
 public:
  // Several may have a shared one, and meanwhile nobody has it alone: for
  // processes that keep from each other's way by other means.
  enum class Kind { kAlone, kShared };

  // Waits only a moment, for those who look whether it is taken. Throws
  // std::runtime_error when another process, or another object of this one,
  // holds the lock, or there is no such directory.
  explicit DirectoryLock(const std::filesystem::path& path,
                         Kind kind = Kind::kAlone);

  // Nothing when the path does not exist; other failures throw.
  static std::optional<DirectoryLock> take_if_exists(
      const std::filesystem::path& path);

  // Whether somebody has it alone just now; false where there is no directory.
  static bool is_taken(const std::filesystem::path& path);

  DirectoryLock(DirectoryLock&& other) noexcept;
  DirectoryLock& operator=(DirectoryLock&&) = delete;
  ~DirectoryLock();

 private:
  DirectoryLock(const std::filesystem::path& path, int descriptor, Kind kind);

  int descriptor_ = -1;
};

// Whether a file of that name is a temporary one (see file.h).
bool is_temporary_name(const std::filesystem::path& path);

// Deletes those that killed processes left in the directory, which is locked.
// They are in nobody's way, so what cannot be deleted stays.
void remove_temporary_files(const std::filesystem::path& directory);

}  // namespace braid::io
