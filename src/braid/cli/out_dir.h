// The directory that a run writes to. Nothing is created before create(), so
// that a run which cannot begin leaves no trace.
#pragma once

#include <filesystem>
#include <optional>

#include "braid/io/file/directory_lock.h"

namespace braid::cli {

class OutDir {
 public:
  // `num_members` 0: one model, files lie in the directory itself; else in
  // member-0, member-1, ... Throws when another run writes there.
  OutDir(std::filesystem::path path, int64_t num_members);

  // Creates what is missing and locks it until destruction.
  void create();

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path member_path(int64_t member) const;
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }

 private:
  std::filesystem::path path_;
  int64_t num_members_;
  std::optional<io::DirectoryLock> lock_;
};

}  // namespace braid::cli
