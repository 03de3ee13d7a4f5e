#include "braid/runtime/spill_file.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "braid/base/bytes.h"
#include "braid/base/crc.h"
#include "braid/base/error.h"
#include "braid/plan/program.h"

namespace braid::runtime {
namespace {

namespace fs = std::filesystem;

// What is summed up while the caches still have it.
constexpr size_t kPieceBytes = size_t{1} << 18;

constexpr const char* kOtherFolder =
    "name a folder with room for it: --spill-dir DIR, or spill_dir in the job";

std::string errno_text(int error) {
  return std::generic_category().message(error);
}

[[noreturn]] void fail_folder(const fs::path& folder, int error) {
  fail_world("[spill] no file can be made in '{}': {}\nHINT: {}",
             folder.string(), errno_text(error), kOtherFolder);
}

// A file that nobody else has had, already without its name.
int make_file(const fs::path& folder) {
  std::string path = (folder / "braid-spill-XXXXXX").string();
  int file = ::mkostemp(path.data(), O_CLOEXEC);
  if (file < 0) fail_folder(folder, errno);
  if (::unlink(path.c_str()) == 0) return file;
  int error = errno;
  ::close(file);
  fail_folder(folder, error);
}

// What the disk of the file has room for, in words.
std::string room_text(int file) {
  struct statvfs disk {};
  if (::fstatvfs(file, &disk) != 0) return "";
  auto bytes = static_cast<int64_t>(disk.f_bavail * disk.f_frsize);
  return fmt::format(", {} bytes ({}) are free", bytes, bytes_text(bytes));
}

bool are_zeros(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes,
                             [](std::byte b) { return b == std::byte(); });
}

// Goes through the bytes piece by piece: `move` moves some of a piece and says
// how many, or fails with errno. The errno, 0 when all are moved, -1 when the
// file ended before.
template <class Byte, class Move>
int move_all(std::span<Byte> bytes, const Move& move, uint32_t& crc) {
  while (!bytes.empty()) {
    std::span<Byte> piece = bytes.first(std::min(bytes.size(), kPieceBytes));
    ssize_t moved = move(piece);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) return errno;
    if (moved == 0) return -1;
    crc = crc32c(piece.first(static_cast<size_t>(moved)), crc);
    bytes = bytes.subspan(static_cast<size_t>(moved));
  }
  return 0;
}

}  // namespace

SpillFile::SpillFile(const fs::path& folder, std::vector<SpillArea> areas)
    : folder_(folder), areas_(std::move(areas)) {
  for (const SpillArea& area : areas_) {
    offsets_.push_back(bytes_);
    bytes_ += align_up(area.bytes, plan::kAlignment);
    sums_.emplace_back(static_cast<size_t>(std::max<int64_t>(area.parts, 1)));
  }
  file_ = make_file(folder_);
  try {
    reserve();
  } catch (...) {
    ::close(file_);
    throw;
  }
}

SpillFile::~SpillFile() { ::close(file_); }

// Later writes cannot find the disk full.
void SpillFile::reserve() {
  if (bytes_ == 0) return;
  int error = EINTR;
  while (error == EINTR) error = ::posix_fallocate(file_, 0, bytes_);
  if (error == 0) return;
  fail_world(
      "[spill] the plan keeps {} bytes ({}) in a file, and '{}' does not take "
      "them:\n  {}{}\nHINT: {}",
      bytes_, bytes_text(bytes_), folder_.string(), errno_text(error),
      room_text(file_), kOtherFolder);
}

int64_t SpillFile::part_bytes(size_t area) const {
  return areas_[area].bytes / std::ssize(sums_[area]);
}

void SpillFile::read(size_t area, int64_t part, std::span<std::byte> content) {
  visit_parts(area, part, content.size(), [&](int64_t at, size_t begin) {
    auto size = static_cast<size_t>(part_bytes(area));
    read_part(area, at, content.subspan(begin, size));
  });
}

void SpillFile::write(size_t area, int64_t part,
                      std::span<const std::byte> content) {
  visit_parts(area, part, content.size(), [&](int64_t at, size_t begin) {
    auto size = static_cast<size_t>(part_bytes(area));
    write_part(area, at, content.subspan(begin, size));
  });
}

template <class Visit>
void SpillFile::visit_parts(size_t area, int64_t part, size_t bytes,
                            Visit visit) {
  throw_if_broken();
  int64_t size = part_bytes(area);
  if (size == 0) return;
  int64_t count = static_cast<int64_t>(bytes) / size;
  if (count * size != static_cast<int64_t>(bytes) ||
      part + count > std::ssize(sums_[area])) {
    fail_defect("[spill] {} bytes are no whole parts of slot '{}'", bytes,
                areas_[area].name);
  }
  for (int64_t i = 0; i < count; ++i) {
    visit(part + i, static_cast<size_t>(i * size));
  }
}

void SpillFile::read_part(size_t area, int64_t part,
                          std::span<std::byte> content) {
  const Sum& sum = sums_[area][static_cast<size_t>(part)];
  int64_t at = offsets_[area] + part * part_bytes(area);
  uint32_t crc = 0;
  int error = move_all(
      content,
      [&](std::span<std::byte> piece) {
        ssize_t moved = ::pread(file_, piece.data(), piece.size(), at);
        if (moved > 0) at += moved;
        return moved;
      },
      crc);
  if (error < 0) fail_part(area, "is cut off: somebody made it shorter");
  if (error > 0) fail_part(area, "cannot be read: " + errno_text(error));
  bool is_right = sum.kind == Sum::Kind::kZeros
                      ? are_zeros(content)
                      : sum.kind == Sum::Kind::kKnown && sum.crc == crc;
  if (!is_right) fail_part(area, "holds another content than was written");
}

void SpillFile::write_part(size_t area, int64_t part,
                           std::span<const std::byte> content) {
  Sum& sum = sums_[area][static_cast<size_t>(part)];
  sum.kind = Sum::Kind::kLost;
  int64_t at = offsets_[area] + part * part_bytes(area);
  uint32_t crc = 0;
  int error = move_all(
      content,
      [&](std::span<const std::byte> piece) {
        ssize_t moved = ::pwrite(file_, piece.data(), piece.size(), at);
        if (moved > 0) at += moved;
        return moved;
      },
      crc);
  if (error != 0) {
    std::string why = error < 0 ? "it takes no bytes" : errno_text(error);
    fail_part(area, "cannot be written: " + why);
  }
  sum = {Sum::Kind::kKnown, crc};
}

void SpillFile::throw_if_broken() const {
  std::lock_guard lock(mutex_);
  if (!error_.empty()) fail_world("{}", error_);
}

void SpillFile::fail_part(size_t area, const std::string& what) {
  std::lock_guard lock(mutex_);
  if (error_.empty()) {
    error_ = fmt::format(
        "[spill] the file in '{}' {},\n  at slot '{}'\n"
        "HINT: look after that disk, or name another folder with --spill-dir;\n"
        "  what was saved before is intact: 'braid resume' goes on from there",
        folder_.string(), what, areas_[area].name);
  }
  fail_world("{}", error_);
}

}  // namespace braid::runtime
