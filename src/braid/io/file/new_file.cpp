#include "braid/io/file/new_file.h"

#include <cstdio>
#include <optional>
#include <span>

#include "braid/base/error.h"
#include "braid/io/file/descriptor.h"
#include "braid/io/file/write_target.h"
#include "braid/io/format/crc32.h"

namespace braid::io {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_write(const fs::path& path, int error) {
  fail_file("file.write", "cannot write", path, error);
}

// The system reads mapped bytes by itself and finds them gone.
[[noreturn]] void fail_source(const fs::path& path) {
  fail_world(
      "[file.write] the content for '{}' could not be read: its file became "
      "shorter meanwhile",
      path.string());
}

void write_bytes(const Descriptor& file, Bytes bytes, const fs::path& path) {
  while (!bytes.empty()) {
    ssize_t written = retry_interrupted(
        [&] { return ::write(file.get(), bytes.data(), bytes.size()); });
    if (written < 0 && errno == EFAULT) fail_source(path);
    if (written <= 0) fail_write(path, written < 0 ? errno : EIO);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

// A new file beside the target, deleted again unless it was renamed.
class TemporaryFile {
 public:
  explicit TemporaryFile(const fs::path& target)
      : target_(target), file_(create()) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (!renamed_) ::unlink(path_.c_str());
  }

  const Descriptor& file() const { return file_; }

  void move_to_target(bool syncs) {
    auto sync = [&] { return ::fsync(file_.get()); };
    if ((syncs && retry_interrupted(sync) != 0) ||
        ::rename(path_.c_str(), target_.c_str()) != 0) {
      fail_write(target_, errno);
    }
    renamed_ = true;
  }

 private:
  // The number tells apart threads, and files left by an earlier process
  // with the same id.
  Descriptor create() {
    for (int number = 0;; ++number) {
      path_ = directory_of(target_) /
              fmt::format(".braid-tmp-{}-{}", ::getpid(), number);
      Descriptor file = open_file(path_, O_WRONLY | O_CREAT | O_EXCL);
      if (file.valid()) return file;
      if (errno != EEXIST) fail_write(target_, errno);
    }
  }

  fs::path target_;
  fs::path path_;
  Descriptor file_;
  bool renamed_ = false;
};

}  // namespace

struct NewFile::Open {
  explicit Open(const fs::path& to)
      : path(to), target(find_write_target(to)), device(open_device()) {
    if (target.is_replaceable) temporary.emplace(target.path);
  }

  const Descriptor& file() const {
    return temporary ? temporary->file() : device;
  }

  fs::path path;
  WriteTarget target;
  Descriptor device;  // what is written to as it is
  std::optional<TemporaryFile> temporary;

 private:
  Descriptor open_device() const {
    if (target.is_replaceable) return Descriptor(-1);
    Descriptor file = open_file(target.path, O_WRONLY);
    if (!file.valid()) fail_write(path, errno);
    return file;
  }
};

NewFile::NewFile(const fs::path& path) : open_(std::make_unique<Open>(path)) {}
NewFile::~NewFile() = default;
NewFile::NewFile(NewFile&&) noexcept = default;
NewFile& NewFile::operator=(NewFile&&) noexcept = default;

bool NewFile::takes_any_order() const { return open_->temporary.has_value(); }

void NewFile::append(Bytes bytes) {
  write_bytes(open_->file(), bytes, open_->path);
}

void NewFile::append(std::string_view text) {
  append(std::as_bytes(std::span(text)));
}

void NewFile::write_at(uint64_t offset, Bytes bytes) {
  while (!bytes.empty()) {
    ssize_t written = retry_interrupted([&] {
      return ::pwrite(open_->file().get(), bytes.data(), bytes.size(),
                      static_cast<off_t>(offset));
    });
    if (written <= 0) fail_write(open_->path, written < 0 ? errno : EIO);
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += static_cast<uint64_t>(written);
  }
}

void NewFile::finish(bool syncs) {
  if (!open_->temporary) return;
  open_->temporary->move_to_target(syncs);
  if (syncs) sync_directory(directory_of(open_->target.path));
}

FileSum write_file_atomically(const fs::path& path,
                              std::span<const Bytes> pieces) {
  NewFile file(path);
  FileSum sum;
  for (Bytes piece : pieces) {
    file.append(piece);
    sum.bytes += piece.size();
    sum.crc32 = crc32(piece, sum.crc32);
  }
  file.finish();
  return sum;
}

FileSum write_file_atomically(const fs::path& path, std::string_view text) {
  Bytes piece = std::as_bytes(std::span(text));
  return write_file_atomically(path, std::span(&piece, 1));
}

}  // namespace braid::io
