#include "braid/cli/out_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "braid/base/error.h"
#include "braid/io/file.h"

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

// Temporary files of killed runs; no other run is alive here. They are in
// nobody's way, so what cannot be deleted stays.
void remove_temporary_files(const fs::path& folder) {
  std::error_code ignored;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(folder, ignored)) {
    if (entry.path().filename().string().starts_with(".braid-tmp-")) {
      fs::remove(entry.path(), ignored);
    }
  }
}

}  // namespace

OutDir::OutDir(fs::path path, int64_t num_members)
    : path_(std::move(path)), num_members_(num_members) {
  // "runs/a/" and "runs/a" are the same.
  if (!path_.has_filename()) path_ = path_.parent_path();
  lock();
}

OutDir::~OutDir() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void OutDir::create() {
  create_path(path_);
  lock();
  for (int64_t m = 0; m < num_members_; ++m) create_path(member_path(m));
  for (int64_t m = 0; m < std::max<int64_t>(num_members_, 1); ++m) {
    remove_temporary_files(member_path(m));
  }
}

fs::path OutDir::member_path(int64_t member) const {
  return num_members_ == 0 ? path_ : path_ / fmt::format("member-{}", member);
}

// The lock lies on the directory itself and ends with the process.
void OutDir::lock() {
  if (descriptor_ >= 0) return;
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0) {
    if (errno == ENOENT) return;
    io::fail_file("out", "cannot use as a directory", path_, errno);
  }
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    fail_world(
        "[out] another run writes to '{}'\n"
        "HINT: wait for it, or choose another --out",
        path_.string());
  }
}

}  // namespace braid::cli
