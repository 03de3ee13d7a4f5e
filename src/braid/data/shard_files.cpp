#include "braid/data/shard_files.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "braid/base/error.h"
#include "braid/io/file/file.h"

namespace braid::data {
namespace {

namespace fs = std::filesystem;

// Well below what a process may have, which is often 1024.
constexpr size_t kMostOpen = 256;

[[noreturn]] void fail_shorter(const fs::path& path, int64_t now,
                               int64_t before) {
  fail_world(
      "[file.read] '{}' became shorter while it was read: {} bytes, {} when it "
      "was opened\nHINT: bring the whole file back; a new version belongs "
      "beside it, or is moved there when it is complete",
      path.string(), now, before);
}

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino &&
         a.st_size == b.st_size && a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
         a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

void check_same(const fs::path& path, const struct stat& now,
                const struct stat& before) {
  if (now.st_size < before.st_size) {
    fail_shorter(path, now.st_size, before.st_size);
  }
  if (is_same(now, before)) return;
  fail_world(
      "[file.read] '{}' is not the file that it was when it was opened: it was "
      "written anew meanwhile\nHINT: begin again, or resume with the old file",
      path.string());
}

}  // namespace

class ShardFiles::Open {
 public:
  Open(const fs::path& path, const struct stat& before)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (fd_ < 0) io::fail_file("file.read", "cannot read", path, errno);
    struct stat now = {};
    int error = ::fstat(fd_, &now) == 0 ? 0 : errno;
    try {
      if (error != 0) io::fail_file("file.read", "cannot read", path, error);
      check_same(path, now, before);
    } catch (...) {
      ::close(fd_);
      throw;
    }
  }
  ~Open() { ::close(fd_); }
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;

  int fd() const { return fd_; }

 private:
  int fd_;
};

size_t ShardFiles::add(const fs::path& path) {
  Known known{path};
  if (::stat(path.c_str(), &known.info) != 0) {
    io::fail_file("file.read", "cannot read", path, errno);
  }
  if (!S_ISREG(known.info.st_mode)) {
    fail_world("[file.read] '{}' is not a regular file", path.string());
  }
  known_.push_back(known);
  open_.resize(known_.size());
  return known_.size() - 1;
}

std::shared_ptr<const ShardFiles::Open> ShardFiles::open(size_t file) const {
  std::lock_guard lock(mutex_);
  std::shared_ptr<const Open>& open = open_[file];
  if (open) return open;
  open = std::make_shared<const Open>(known_[file].path, known_[file].info);
  opened_.push_back(file);
  if (opened_.size() > kMostOpen) {  // who reads it keeps it until done
    open_[opened_.front()].reset();
    opened_.pop_front();
  }
  return open_[file];
}

void ShardFiles::read(size_t file, size_t offset,
                      std::span<std::byte> out) const {
  std::shared_ptr<const Open> open = this->open(file);
  while (!out.empty()) {
    ssize_t count =
        ::pread(open->fd(), out.data(), out.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      io::fail_file("file.read", "cannot read", known_[file].path, errno);
    }
    if (count == 0) {
      fail_shorter(known_[file].path, static_cast<int64_t>(offset),
                   known_[file].info.st_size);
    }
    out = out.subspan(static_cast<size_t>(count));
    offset += static_cast<size_t>(count);
  }
}

void ShardFiles::prepare(size_t file, size_t offset, size_t bytes) const {
  try {
    ::posix_fadvise(open(file)->fd(), static_cast<off_t>(offset),
                    static_cast<off_t>(bytes), POSIX_FADV_WILLNEED);
  } catch (const std::exception&) {  // read() says what is wrong
  }
}

bool ShardFiles::is_ready(size_t file, size_t offset) const {
  try {
    std::byte first{};
    iovec to{&first, 1};
    return ::preadv2(open(file)->fd(), &to, 1, static_cast<off_t>(offset),
                     RWF_NOWAIT) == 1;
  } catch (const std::exception&) {  // read() says what is wrong
    return false;
  }
}

}  // namespace braid::data
