#include "braid/io/file/write_target.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "braid/base/error.h"
#include "braid/io/file/file.h"

namespace braid::io {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_at(const fs::path& path, int error) {
  fail_file("file.write", "cannot write", path, error);
}

fs::path follow_links(const fs::path& path) {
  constexpr int kMostLinks = 40;  // as the system allows
  fs::path at = path;
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code error;
    if (!fs::is_symlink(fs::symlink_status(at, error))) return at;
    fs::path next = fs::read_symlink(at, error);
    if (error) fail_at(path, error.value());
    at = next.is_absolute() ? next : at.parent_path() / next;
  }
  fail_at(path, ELOOP);
}

bool is_read_only(const fs::path& path, const struct stat& info) {
  constexpr mode_t kWritable = S_IWUSR | S_IWGRP | S_IWOTH;
  return (info.st_mode & kWritable) == 0 || ::access(path.c_str(), W_OK) != 0;
}

}  // namespace

WriteTarget find_write_target(const fs::path& path) {
  WriteTarget target{follow_links(path)};
  struct stat info;
  if (::stat(target.path.c_str(), &info) != 0) {
    if (errno != ENOENT) fail_at(path, errno);
    return target;
  }
  if (S_ISDIR(info.st_mode)) fail_at(path, EISDIR);
  target.is_replaceable = S_ISREG(info.st_mode);
  if (target.is_replaceable && is_read_only(target.path, info)) {
    fail_world(
        "[file.write] '{}' is read-only\n"
        "HINT: choose another name, or allow it: chmod u+w {}",
        path.string(), target.path.string());
  }
  return target;
}

}  // namespace braid::io
