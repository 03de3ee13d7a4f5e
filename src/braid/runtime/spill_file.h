// SpillFile: where slots lie that take neither device nor host memory. Every
// part of a slot has a checksum, kept in memory, so that a content that is not
// what was written is noticed. The file loses its name as soon as it is open:
// however the process ends, nothing is left behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace braid::runtime {

// A slot in the file: so many equal parts one after the other.
struct SpillArea {
  std::string name;
  int64_t bytes = 0;
  int64_t parts = 1;
};

// Reads and writes block; they are thread-safe for different areas. All errors
// are std::runtime_error "[spill] ..."; after the first one every call throws
// it again, so that nothing goes on with a lost content.
class SpillFile {
 public:
  // Reserves the room on the disk. Contents are zero.
  SpillFile(const std::filesystem::path& folder, std::vector<SpillArea> areas);
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  // Whole parts, from `part` on.
  void read(size_t area, int64_t part, std::span<std::byte> content);
  void write(size_t area, int64_t part, std::span<const std::byte> content);

  int64_t bytes() const { return bytes_; }

 private:
  // Of what was written to a part last.
  struct Sum {
    enum class Kind { kZeros, kKnown, kLost };
    Kind kind = Kind::kZeros;
    uint32_t crc = 0;
  };

  void reserve();
  int64_t part_bytes(size_t area) const;
  template <class Visit>
  void visit_parts(size_t area, int64_t part, size_t bytes, Visit visit);
  void read_part(size_t area, int64_t part, std::span<std::byte> content);
  void write_part(size_t area, int64_t part,
                  std::span<const std::byte> content);
  void throw_if_broken() const;
  [[noreturn]] void fail_part(size_t area, const std::string& what);

  std::filesystem::path folder_;
  std::vector<SpillArea> areas_;
  std::vector<int64_t> offsets_;        // by area
  std::vector<std::vector<Sum>> sums_;  // by area, by part
  int64_t bytes_ = 0;
  int file_ = -1;
  mutable std::mutex mutex_;  // of the error
  std::string error_;         // the first
};

}  // namespace braid::runtime
