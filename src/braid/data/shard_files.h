// ShardFiles: many files of which rows are read by place, few of them open.
//
// Rows are read by the system into the caller's memory, and nothing is mapped:
// what a process holds does not grow with what it has read, and a file that
// lost its end is a short read, not a page that is not there.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace braid::data {

// Files are known by the number they were added with. Reading is thread-safe.
class ShardFiles {
 public:
  ShardFiles() = default;
  ShardFiles(const ShardFiles&) = delete;
  ShardFiles& operator=(const ShardFiles&) = delete;

  // Remembers the file as it is now. Throws when there is none.
  size_t add(const std::filesystem::path& path);

  // Fills `out`. Throws std::runtime_error that names the file when it became
  // shorter since it was added, or is another one. Blocks on the disk.
  void read(size_t file, size_t offset, std::span<std::byte> out) const;

  // Asks the system to have these bytes ready soon; failures are left to
  // read(). Does not wait for the disk.
  void prepare(size_t file, size_t offset, size_t bytes) const;

  // Whether the byte there is in memory already; false where the system does
  // not tell.
  bool is_ready(size_t file, size_t offset) const;

  const std::filesystem::path& path(size_t file) const {
    return known_[file].path;
  }
  size_t size() const { return known_.size(); }
  size_t bytes(size_t file) const {
    return static_cast<size_t>(known_[file].info.st_size);
  }

 private:
  class Open;
  struct Known {
    std::filesystem::path path;
    struct stat info = {};  // when it was added
  };

  std::shared_ptr<const Open> open(size_t file) const;

  std::vector<Known> known_;
  mutable std::mutex mutex_;                               // guards all below
  mutable std::vector<std::shared_ptr<const Open>> open_;  // by file, or null
  mutable std::deque<size_t> opened_;                      // the oldest first
};

}  // namespace braid::data
