#include "braid/io/file/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "braid/base/error.h"
#include "braid/io/file/descriptor.h"
#include "braid/io/file/guarded_range.h"
#include "braid/io/format/crc32.h"

namespace braid::io {
namespace {

namespace fs = std::filesystem;

constexpr size_t kReadBytes = 1 << 20;
constexpr std::string_view kHintWhole =
    "bring the whole file back; a new version belongs beside it, or is moved "
    "there when it is complete";

std::string_view hint_for(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT: return "\nHINT: free some space or choose another disk";
    case EFBIG:
      return "\nHINT: free some space or choose another disk; a limit of file "
             "sizes (ulimit -f) counts too";
    case EACCES:
    case EPERM:
    case EROFS:
      return "\nHINT: check the permissions or choose another directory";
    case ENOENT:
      return "\nHINT: check the spelling; a missing parent directory must be "
             "created first";
    case ENOTDIR:
      return "\nHINT: a part of the path is a file, not a directory";
    case EISDIR: return "\nHINT: the path is a directory, a file is needed";
    case EMFILE:
    case ENFILE:
      return "\nHINT: too many open files; raise the limit (ulimit -n)";
    default: return "";
  }
}

[[noreturn]] void fail_read(const fs::path& path, int error) {
  fail_file("file.read", "cannot read", path, error);
}

struct stat info_of(const Descriptor& file, const fs::path& path) {
  struct stat info;
  if (::fstat(file.get(), &info) != 0) fail_read(path, errno);
  if (S_ISDIR(info.st_mode)) fail_read(path, EISDIR);
  if (!S_ISREG(info.st_mode)) {
    fail_world("[file.read] '{}' is not a regular file", path.string());
  }
  return info;
}

Bytes map_bytes(const Descriptor& file, size_t size, const fs::path& path) {
  if (size == 0) return {};
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED) fail_read(path, errno);
  return {static_cast<const std::byte*>(data), size};
}

bool is_regular(const Descriptor& file, const fs::path& path) {
  struct stat info;
  if (::fstat(file.get(), &info) != 0) fail_read(path, errno);
  return S_ISREG(info.st_mode);
}

// How many bytes came: none at the end, -1 after an error.
ssize_t read_some(const Descriptor& file, std::span<std::byte> buffer) {
  return retry_interrupted(
      [&] { return ::read(file.get(), buffer.data(), buffer.size()); });
}

void add_piece(FileSum& sum, Bytes piece) {
  sum.bytes += piece.size();
  sum.crc32 = crc32(piece, sum.crc32);
}

// O_NONBLOCK: opening a pipe by mistake must not hang.
Descriptor open_to_read(const fs::path& path) {
  return open_file(path, O_RDONLY | O_NONBLOCK);
}

void unmap(Bytes bytes) {
  if (bytes.empty()) return;
  ::munmap(const_cast<std::byte*>(bytes.data()), bytes.size());
}

}  // namespace

struct MappedFile::Mapping {
  Mapping(const Descriptor& file, fs::path name)
      : path(std::move(name)),
        info(info_of(file, path)),
        bytes(map_bytes(file, static_cast<size_t>(info.st_size), path)),
        guard(std::in_place, bytes) {}
  ~Mapping() {
    guard.reset();  // before others may have the addresses
    unmap(bytes);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  fs::path path;
  struct stat info;  // when it was opened
  Bytes bytes;
  std::optional<GuardedRange> guard;
};

MappedFile::MappedFile(std::unique_ptr<Mapping> mapping)
    : mapping_(std::move(mapping)), bytes_(mapping_->bytes) {}

MappedFile::MappedFile(const fs::path& path) {
  Descriptor file = open_to_read(path);
  if (!file.valid()) fail_read(path, errno);
  mapping_ = std::make_unique<Mapping>(file, path);
  bytes_ = mapping_->bytes;
}

std::optional<MappedFile> MappedFile::open_if_exists(const fs::path& path) {
  Descriptor file = open_to_read(path);
  if (file.valid()) return MappedFile(std::make_unique<Mapping>(file, path));
  if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
  fail_read(path, errno);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : mapping_(std::move(other.mapping_)),
      bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() = default;

// The end of the last page that is left reads as zeros without a fault, so
// the size is asked for too. A file that was replaced by another one stays
// as it was for those who have it open.
void MappedFile::check() const {
  if (!mapping_) return;
  const struct stat& before = mapping_->info;
  struct stat now;
  bool is_same = ::stat(mapping_->path.c_str(), &now) == 0 &&
                 now.st_dev == before.st_dev && now.st_ino == before.st_ino;
  if (is_same && now.st_size < before.st_size) {
    fail_world(
        "[file.read] '{}' became shorter while it was read: {} bytes, {} when "
        "it was opened\nHINT: {}",
        mapping_->path.string(), now.st_size, before.st_size, kHintWhole);
  }
  if (!mapping_->guard->has_lost()) return;
  fail_world(
      "[file.read] a part of '{}' could not be read: the file became shorter "
      "meanwhile, or its disk failed\nHINT: {}",
      mapping_->path.string(), kHintWhole);
}

// Not through a mapping: a bad place of the disk would end the process there.
std::optional<FileSum> sum_file(const fs::path& path) {
  Descriptor file = open_to_read(path);
  if (!file.valid()) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    fail_read(path, errno);
  }
  if (!is_regular(file, path)) return std::nullopt;
  std::vector<std::byte> buffer(kReadBytes);
  FileSum sum;
  ssize_t count = 0;
  while ((count = read_some(file, buffer)) > 0) {
    add_piece(sum, Bytes(buffer).first(static_cast<size_t>(count)));
  }
  if (count == 0) return sum;
  if (errno == EIO) return std::nullopt;
  fail_read(path, errno);
}

void sync_directory(const fs::path& directory) {
  Descriptor file = open_file(directory, O_RDONLY | O_DIRECTORY);
  bool synced = file.valid() &&
                retry_interrupted([&] { return ::fsync(file.get()); }) == 0;
  // Some file systems do not know fsync of a directory and answer EINVAL.
  if (synced || (file.valid() && errno == EINVAL)) return;
  fail_file("file.sync", "cannot sync directory", directory, errno);
}

void fail_file(std::string_view where, std::string_view what,
               const fs::path& path, int error) {
  fail_world("[{}] {} '{}': {}{}", where, what, path.string(),
             std::generic_category().message(error), hint_for(error));
}

}  // namespace braid::io
