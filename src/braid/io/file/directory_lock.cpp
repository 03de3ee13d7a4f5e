#include "braid/io/file/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "braid/base/error.h"
#include "braid/io/file/file.h"

namespace braid::io {
namespace {

namespace fs = std::filesystem;

constexpr int kMostTries = 5;
constexpr useconds_t kPause = 10'000;  // 10 ms

int open_directory(const fs::path& path) {
  return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

[[noreturn]] void fail_open(const fs::path& path) {
  fail_file("out", "cannot use as a directory", path, errno);
}

}  // namespace

DirectoryLock::DirectoryLock(const fs::path& path, Kind kind)
    : DirectoryLock(path, open_directory(path), kind) {}

// File systems without locks answer otherwise; there is none to be had then.
DirectoryLock::DirectoryLock(const fs::path& path, int descriptor, Kind kind)
    : descriptor_(descriptor) {
  if (descriptor_ < 0) fail_open(path);
  int operation = kind == Kind::kAlone ? LOCK_EX : LOCK_SH;
  for (int tries = 0; tries < kMostTries; ++tries) {
    if (::flock(descriptor_, operation | LOCK_NB) == 0) return;
    if (errno != EWOULDBLOCK) return;
    ::usleep(kPause);
  }
  ::close(descriptor_);
  fail_world(
      "[out] another run writes to '{}'\n"
      "HINT: wait for it, or choose another --out",
      path.string());
}

std::optional<DirectoryLock> DirectoryLock::take_if_exists(
    const fs::path& path) {
  int descriptor = open_directory(path);
  if (descriptor < 0 && errno == ENOENT) return std::nullopt;
  return DirectoryLock(path, descriptor, Kind::kAlone);
}

// Those who look do not keep each other from looking.
bool DirectoryLock::is_taken(const fs::path& path) {
  int descriptor = open_directory(path);
  if (descriptor < 0) return false;
  bool is_free = ::flock(descriptor, LOCK_SH | LOCK_NB) == 0;
  bool is_taken = !is_free && errno == EWOULDBLOCK;
  ::close(descriptor);
  return is_taken;
}

DirectoryLock::DirectoryLock(DirectoryLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

DirectoryLock::~DirectoryLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool is_temporary_name(const fs::path& path) {
  return path.filename().string().starts_with(".braid-tmp-");
}

void remove_temporary_files(const fs::path& directory) {
  std::error_code ignored;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(directory, ignored)) {
    if (is_temporary_name(entry.path())) fs::remove(entry.path(), ignored);
  }
}

}  // namespace braid::io
