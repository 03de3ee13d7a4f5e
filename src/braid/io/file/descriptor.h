// Descriptors of open files, for the sources of this folder.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

namespace braid::io {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_;
};

// Calls until the answer is not "interrupted by a signal".
template <class Call>
auto retry_interrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

inline Descriptor open_file(const std::filesystem::path& path, int flags) {
  return Descriptor(retry_interrupted(
      [&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0666); }));
}

inline std::filesystem::path directory_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path()
                                : std::filesystem::path(".");
}

}  // namespace braid::io
