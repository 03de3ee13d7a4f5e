#include "braid/io/file/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace braid::io {

AppendFile::AppendFile(std::filesystem::path path)
    : path_(std::move(path)),
      descriptor_(::open(path_.c_str(),
                         O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) {
    fail_file("file.append", "cannot open", path_, errno);
  }
}

AppendFile::~AppendFile() { ::close(descriptor_); }

void AppendFile::append(std::string_view piece) {
  std::lock_guard lock(mutex_);
  size_t done = 0;
  while (done < piece.size()) {
    ssize_t count =
        ::write(descriptor_, piece.data() + done, piece.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      int error = count < 0 ? errno : EIO;
      take_back(done);
      fail_file("file.append", "cannot write", path_, error);
    }
    done += static_cast<size_t>(count);
  }
}

void AppendFile::sync() {
  if (::fsync(descriptor_) == 0) return;
  fail_file("file.append", "cannot sync", path_, errno);
}

// The first part of a piece. What cannot be cut off stays: readers of our
// files skip it.
void AppendFile::take_back(size_t bytes) {
  if (bytes == 0) return;
  off_t end = ::lseek(descriptor_, 0, SEEK_END);
  bool cut = ::ftruncate(descriptor_, end - static_cast<off_t>(bytes)) == 0;
  static_cast<void>(cut);
}

}  // namespace braid::io
