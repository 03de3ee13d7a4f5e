#include "braid/data/npz.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "braid/base/error.h"
#include "braid/base/printable.h"
#include "braid/base/text.h"
#include "braid/io/format/crc32.h"
#include "braid/io/format/inflate.h"
#include "braid/io/format/zip.h"

namespace braid::data {
namespace {

constexpr std::string_view kEnding = ".npy";

class Npz {
 public:
  Npz(const std::string& who, const std::string& file, io::Bytes bytes,
      NpyMemory& memory)
      : who_(who),
        file_(file),
        archive_(bytes, file, io::ZipPacking::kTaken),
        memory_(memory) {
    for (const io::ZipEntry& entry : archive_.entries()) {
      if (!entry.name.ends_with(kEnding)) continue;
      names_.push_back(
          entry.name.substr(0, entry.name.size() - kEnding.size()));
    }
    if (!names_.empty()) return;
    fail_world("[{}] expected arrays *.npy in the archive, got none ({})", who_,
               file_);
  }

  const std::vector<std::string>& names() const { return names_; }

  Column read(const std::string& field, const std::string& name) {
    const io::ZipEntry* entry = archive_.find(name + std::string(kEnding));
    if (!entry) fail_missing(name);
    std::string label = fmt::format("{} in {}", printable(name), file_);
    io::Bytes content = archive_.content(*entry);
    if (entry->is_packed) {
      memory_.arrays.push_back(io::inflate(content, entry->whole_bytes, label));
      content = memory_.arrays.back();
    }
    if (io::crc32(content) != entry->checksum) {
      fail_world(
          "[{}] expected the checksum {:08x}, got another ({})\n"
          "HINT: the file is damaged; copy or save it again",
          who_, entry->checksum, label);
    }
    return read_npy_array(who_, field, label, content, memory_);
  }

 private:
  [[noreturn]] void fail_missing(const std::string& name) const {
    fail_world(
        "[{}] expected an array '{}', got none ({})\n"
        "HINT: it has {}; did you mean '{}'?",
        who_, name, file_, fmt::join(names_, ", "), nearest_name(name, names_));
  }

  const std::string& who_;
  const std::string& file_;
  io::ZipArchive archive_;
  NpyMemory& memory_;
  std::vector<std::string> names_;
};

}  // namespace

bool looks_like_npz(io::Bytes bytes) {
  return bytes.size() >= 4 && bytes[0] == std::byte{'P'} &&
         bytes[1] == std::byte{'K'} && bytes[2] <= std::byte{8};
}

std::vector<Column> read_npz(const std::string& who,
                             const std::vector<std::string>& wanted,
                             const std::string& file, io::Bytes bytes,
                             NpyMemory& memory) {
  Npz npz(who, file, bytes, memory);
  std::vector<Column> columns;
  for (const std::string& text : wanted.empty() ? npz.names() : wanted) {
    size_t equals = wanted.empty() ? text.npos : text.find('=');
    std::string field = text.substr(0, equals);
    columns.push_back(
        npz.read(field, equals == text.npos ? text : text.substr(equals + 1)));
  }
  return columns;
}

Column read_npz_alone(const std::string& who, const std::string& field,
                      const std::string& file, io::Bytes bytes,
                      NpyMemory& memory) {
  Npz npz(who, file, bytes, memory);
  if (npz.names().size() == 1) return npz.read(field, npz.names()[0]);
  fail_world(
      "[{}] expected one array for the field '{}', got {}: {} ({})\n"
      "HINT: name the file as 'file', and which array is which as 'arrays'",
      who, field, npz.names().size(), fmt::join(npz.names(), ", "), file);
}

}  // namespace braid::data
