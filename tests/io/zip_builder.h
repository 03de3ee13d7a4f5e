// Writes zip files with chosen flaws, and takes good ones apart: for the tests
// of the readers and for the fuzz target.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "braid/io/format/crc32.h"
#include "braid/io/format/zip.h"

namespace braid::io {

struct ZipPart {
  std::string name = {}, content = {};
  // What the directory says, where it differs from the truth.
  uint16_t flags = 0, method = 0, disk = 0;
  std::optional<uint32_t> checksum = {};
  std::optional<uint64_t> bytes = {}, packed_bytes = {}, header = {};
  std::optional<std::string> header_name = {};  // in front of the content
  bool is_wide = false;          // sizes of 64 bits in the extra field
  bool has_sizes_after = false;  // as torch writes: zeros in the header
};

struct EndFlaws {
  bool is_wide = false;
  uint16_t disk = 0;
  std::optional<uint64_t> entries = {}, directory = {}, directory_bytes = {};
  std::string comment = {};
  std::string before_end = {};  // between the directory and the end records
};

template <class T>
void append_number(std::string& text, T value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

class ZipBuilder {
 public:
  std::string build(const std::vector<ZipPart>& parts, const EndFlaws& end) {
    for (const ZipPart& part : parts) add(part);
    uint64_t begin = file_.size();
    file_ += directory_;
    uint64_t entries = end.entries.value_or(parts.size());
    uint64_t directory = end.directory.value_or(begin);
    uint64_t bytes = end.directory_bytes.value_or(directory_.size());
    file_ += end.before_end;
    if (end.is_wide) add_wide_end(entries, directory, bytes);
    append_number<uint32_t>(file_, 0x06054b50);
    append_number<uint16_t>(file_, end.disk);
    append_number<uint16_t>(file_, 0);
    for (int i = 0; i < 2; ++i) append_number(file_, small16(entries));
    append_number(file_, small32(bytes));
    append_number(file_, small32(directory));
    append_number(file_, static_cast<uint16_t>(end.comment.size()));
    return file_ + end.comment;
  }

 private:
  static uint16_t small16(uint64_t value) {
    return static_cast<uint16_t>(value < 0xffff ? value : 0xffff);
  }
  static uint32_t small32(uint64_t value) {
    return static_cast<uint32_t>(value < 0xffffffff ? value : 0xffffffff);
  }

  static uint16_t flags_of(const ZipPart& part) {
    return static_cast<uint16_t>(part.flags |
                                 (part.has_sizes_after ? 1 << 3 : 0));
  }

  void add(const ZipPart& part) {
    uint64_t begin = part.header.value_or(file_.size());
    std::string_view content = part.content;
    uint32_t sum =
        part.checksum.value_or(crc32(std::as_bytes(std::span(content))));
    uint64_t bytes = part.bytes.value_or(content.size());
    uint64_t packed = part.packed_bytes.value_or(bytes);
    add_header(part, sum, bytes, packed);
    file_ += content;
    if (part.has_sizes_after) {
      append_number<uint32_t>(file_, 0x08074b50);
      append_number(file_, sum);
      append_number(file_, small32(packed));
      append_number(file_, small32(bytes));
    }
    add_record(part, sum, bytes, packed, begin);
  }

  void add_header(const ZipPart& part, uint32_t sum, uint64_t bytes,
                  uint64_t packed) {
    const std::string& name = part.header_name.value_or(part.name);
    std::string extra;
    if (part.is_wide) {
      append_number<uint16_t>(extra, 1);
      append_number<uint16_t>(extra, 16);
      append_number(extra, bytes);
      append_number(extra, packed);
    }
    bool later = part.has_sizes_after;
    append_number<uint32_t>(file_, 0x04034b50);
    append_number<uint16_t>(file_, 20);
    append_number(file_, flags_of(part));
    append_number(file_, part.method);
    append_number<uint32_t>(file_, 0);
    append_number(file_, later ? 0 : sum);
    append_number(file_, later ? 0 : part.is_wide ? ~0u : small32(packed));
    append_number(file_, later ? 0 : part.is_wide ? ~0u : small32(bytes));
    append_number(file_, static_cast<uint16_t>(name.size()));
    append_number(file_, static_cast<uint16_t>(extra.size()));
    file_ += name + extra;
  }

  void add_record(const ZipPart& part, uint32_t sum, uint64_t bytes,
                  uint64_t packed, uint64_t begin) {
    std::string extra;
    if (part.is_wide) {
      append_number<uint16_t>(extra, 1);
      append_number<uint16_t>(extra, 24);
      for (uint64_t value : {bytes, packed, begin}) append_number(extra, value);
    }
    std::string& out = directory_;
    append_number<uint32_t>(out, 0x02014b50);
    append_number<uint32_t>(out, 0);
    append_number(out, flags_of(part));
    append_number(out, part.method);
    append_number<uint32_t>(out, 0);
    append_number(out, sum);
    append_number(out, part.is_wide ? ~0u : small32(packed));
    append_number(out, part.is_wide ? ~0u : small32(bytes));
    append_number(out, static_cast<uint16_t>(part.name.size()));
    append_number(out, static_cast<uint16_t>(extra.size()));
    append_number<uint16_t>(out, 0);
    append_number(out, part.disk);
    append_number<uint16_t>(out, 0);
    append_number<uint32_t>(out, 0);
    append_number(out, part.is_wide ? ~0u : small32(begin));
    out += part.name + extra;
  }

  void add_wide_end(uint64_t entries, uint64_t directory, uint64_t bytes) {
    uint64_t begin = file_.size();
    append_number<uint32_t>(file_, 0x06064b50);
    append_number<uint64_t>(file_, 44);
    append_number<uint32_t>(file_, 0);
    append_number<uint64_t>(file_, 0);
    for (uint64_t value : {entries, entries, bytes, directory}) {
      append_number(file_, value);
    }
    append_number<uint32_t>(file_, 0x07064b50);
    append_number<uint32_t>(file_, 0);
    append_number(file_, begin);
    append_number<uint32_t>(file_, 1);
  }

  std::string file_, directory_;
};

inline std::string build_zip(const std::vector<ZipPart>& parts,
                             const EndFlaws& end = {}) {
  return ZipBuilder().build(parts, end);
}

// The parts of a file that the reader takes.
inline std::vector<ZipPart> take_apart(Bytes file) {
  ZipArchive archive(file, "file");
  std::vector<ZipPart> parts;
  for (const ZipEntry& entry : archive.entries()) {
    Bytes bytes = archive.content(entry);
    parts.push_back({.name = entry.name,
                     .content = {reinterpret_cast<const char*>(bytes.data()),
                                 bytes.size()}});
  }
  return parts;
}

}  // namespace braid::io
