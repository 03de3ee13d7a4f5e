#include "braid/cli/out_dir.h"

#include <algorithm>

#include "braid/base/error.h"
#include "braid/io/file/file.h"

namespace braid::cli {
namespace {

namespace fs = std::filesystem;

void create_path(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    io::fail_file("out", "cannot create directory", path, error.value());
  }
}

// "runs/a/" and "runs/a" are the same.
fs::path without_slash(fs::path path) {
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

OutDir::OutDir(fs::path path, int64_t num_members)
    : path_(without_slash(std::move(path))),
      num_members_(num_members),
      lock_(io::DirectoryLock::take_if_exists(path_)) {}

void OutDir::create() {
  create_path(path_);
  if (!lock_) lock_.emplace(path_);
  for (int64_t m = 0; m < num_members_; ++m) create_path(member_path(m));
  for (int64_t m = 0; m < std::max<int64_t>(num_members_, 1); ++m) {
    io::remove_temporary_files(member_path(m));
  }
}

fs::path OutDir::member_path(int64_t member) const {
  return num_members_ == 0 ? path_ : path_ / fmt::format("member-{}", member);
}

}  // namespace braid::cli
