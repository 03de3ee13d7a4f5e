// Layout of a zip file:
//   header, name, extra, content [, sizes]   for each entry
//   central directory                        one record per entry
//   end records                              see zip_end.cpp
#include "braid/io/format/zip.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "braid/base/error.h"
#include "braid/io/format/crc32.h"
#include "braid/io/format/zip_end.h"
#include "braid/io/format/zip_fields.h"
#include "braid/io/problems.h"

namespace braid::io {
namespace {

constexpr uint32_t kHeaderMark = 0x04034b50, kRecordMark = 0x02014b50;
constexpr uint64_t kHeaderBytes = 30;
constexpr uint16_t kWideExtra = 1;              // id of 64-bit sizes
constexpr uint32_t kLargeMax = 0xffffffff;      // "see the 64-bit sizes"
constexpr uint16_t kSizesFollow = 1 << 3;       // not known in the header
constexpr uint16_t kStored = 0, kDeflated = 8;  // methods
constexpr uint16_t kKnownFlags = kSizesFollow | 1 << 11 | 0b110;
constexpr std::string_view kRepackHint =
    "torch.export.save writes archives without compression; give the file as "
    "it was saved, not packed again";

constexpr std::string_view kMethodHint =
    "entries are stored or deflated, as most programs write them";

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// What is wrong with a name; empty when nothing is.
std::string_view name_problem(std::string_view name) {
  if (name.empty()) return "has an empty name";
  if (name.starts_with('/') || (name.size() > 1 && name[1] == ':')) {
    return "has an absolute path";
  }
  for (unsigned char c : name) {
    if (c < 0x20 || c == 0x7f) return "has a control character in its name";
    if (c == '\\') return "has a backslash in its name";
  }
  for (size_t begin = 0; begin < name.size();) {
    size_t end = std::min(name.find('/', begin), name.size());
    std::string_view step = name.substr(begin, end - begin);
    if (step.empty() || step == "." || step == "..") {
      return "leaves its folder (an empty step, '.' or '..')";
    }
    begin = end + 1;
  }
  return "";
}

// Sizes and place of an entry, of which some may stand in its extra field.
struct Sizes {
  uint64_t whole = 0, packed = 0, header = 0;
};

// The content of the extra field with 64-bit sizes; empty without one.
Bytes find_wide_sizes(Bytes extra) {
  while (extra.size() >= 4) {
    ZipFields fields(extra);
    uint16_t id = fields.u16(), bytes = fields.u16();
    if (bytes > fields.left()) return {};
    if (id == kWideExtra) return extra.subspan(4, bytes);
    extra = extra.subspan(4 + bytes);
  }
  return {};
}

// False when a 64-bit size is announced and missing.
bool widen(Sizes& sizes, Bytes extra) {
  ZipFields fields(find_wide_sizes(extra));
  for (uint64_t* size : {&sizes.whole, &sizes.packed, &sizes.header}) {
    if (*size != kLargeMax) continue;
    if (fields.left() < 8) return false;
    *size = fields.u64();
  }
  return true;
}

// Reads the directory record by record.
class DirectoryReader {
 public:
  DirectoryReader(Bytes file, const ZipEnd& end, ZipPacking packing,
                  Problems& problems)
      : file_(file), end_(end), packing_(packing), problems_(problems) {}

  std::vector<ZipEntry> read() {
    std::vector<ZipEntry> entries;
    uint64_t position = end_.directory;
    for (uint64_t i = 0; i < end_.entries; ++i) {
      if (!read_record(position, entries)) {
        problems_.add("", fmt::format("the directory breaks off after {} of "
                                      "{} entries",
                                      i, end_.entries));
        return entries;
      }
    }
    if (position != end_.begin) {
      problems_.add("", "bytes after the last entry of the directory");
    }
    return entries;
  }

 private:
  struct Record {
    std::string_view name;
    uint16_t flags = 0, method = 0;
    uint32_t checksum = 0;
    Sizes sizes;
  };

  void fail(std::string_view name, std::string_view text) {
    problems_.add("", fmt::format("entry '{}' {}", shown(name), text));
  }

  // False when the rest of the directory cannot be read.
  bool read_record(uint64_t& position, std::vector<ZipEntry>& entries) {
    auto head = part_of(file_.first(end_.begin), position, kZipRecordBytes);
    if (!head) return false;
    ZipFields fields(*head);
    if (fields.u32() != kRecordMark) return false;
    Record record;
    fields.skip(4);
    record.flags = fields.u16();
    record.method = fields.u16();
    fields.skip(4);
    record.checksum = fields.u32();
    record.sizes.packed = fields.u32();
    record.sizes.whole = fields.u32();
    uint64_t name = fields.u16(), extra = fields.u16(), comment = fields.u16();
    bool is_first_part = fields.u16() == 0;
    fields.skip(6);
    record.sizes.header = fields.u32();
    position += kZipRecordBytes;
    auto rest =
        part_of(file_.first(end_.begin), position, name + extra + comment);
    if (!rest) return false;
    position += rest->size();
    record.name = text_of(rest->first(name));
    if (!is_first_part) {
      fail(record.name, "lies in another part of the archive");
    } else if (!widen(record.sizes, rest->subspan(name, extra))) {
      fail(record.name, "lacks its 64-bit sizes");
    } else if (is_supported(record)) {
      add_entry(record, entries);
    }
    return true;
  }

  bool is_supported(const Record& record) {
    std::string_view problem = name_problem(record.name);
    size_t before = problems_.count();
    if (!problem.empty()) fail(record.name, problem);
    if (record.flags & ~kKnownFlags) fail(record.name, "is encrypted");
    if (is_packed(record)) return problems_.count() == before;
    if (record.method != kStored) {
      fail(record.name,
           fmt::format("is compressed (method {}, {} bytes from "
                       "{})",
                       record.method, record.sizes.whole, record.sizes.packed));
      problems_.add_hint(packing_ == ZipPacking::kRefused ? kRepackHint
                                                          : kMethodHint);
    } else if (record.sizes.whole != record.sizes.packed) {
      fail(record.name, fmt::format("has two sizes, {} and {}",
                                    record.sizes.whole, record.sizes.packed));
    }
    return problems_.count() == before;
  }

  bool is_packed(const Record& record) const {
    return packing_ == ZipPacking::kTaken && record.method == kDeflated;
  }

  void add_entry(const Record& record, std::vector<ZipEntry>& entries) {
    std::string_view problem;
    ZipEntry entry = {.name = std::string(record.name),
                      .header = record.sizes.header,
                      .bytes = record.sizes.packed,
                      .checksum = record.checksum,
                      .is_packed = is_packed(record),
                      .whole_bytes = record.sizes.whole};
    std::optional<uint64_t> begin = read_header(record, problem);
    if (!begin) {
      fail(record.name, problem);
    } else if (Bytes data = file_.first(end_.directory);
               !part_of(data, *begin, entry.bytes)) {
      fail(record.name, fmt::format("of {} bytes at {} leaves the {} bytes "
                                    "before the directory",
                                    entry.bytes, *begin, data.size()));
    } else {
      entry.begin = *begin;
      entries.push_back(std::move(entry));
    }
  }

  // Compares the header in front of the content with the directory; gives
  // where the content begins.
  std::optional<uint64_t> read_header(const Record& record,
                                      std::string_view& problem) {
    auto head = part_of(file_, record.sizes.header, kHeaderBytes);
    problem = "has its header past the end of the file";
    if (!head) return std::nullopt;
    ZipFields fields(*head);
    problem = "has no header where the directory says";
    if (fields.u32() != kHeaderMark) return std::nullopt;
    fields.skip(2);
    bool is_same = fields.u16() == record.flags;
    is_same = fields.u16() == record.method && is_same;
    fields.skip(4);
    uint32_t checksum = fields.u32();
    Sizes sizes;
    sizes.packed = fields.u32();
    sizes.whole = fields.u32();
    uint64_t name = fields.u16(), extra = fields.u16();
    uint64_t begin = record.sizes.header + kHeaderBytes;
    auto rest = part_of(file_, begin, name + extra);
    problem = "has a header that leaves the file";
    if (!rest) return std::nullopt;
    problem = "has a header that differs from the directory";
    is_same = is_same && text_of(rest->first(name)) == record.name &&
              widen(sizes, rest->subspan(name));
    bool is_later = (record.flags & kSizesFollow) && checksum == 0 &&
                    sizes.packed == 0 && sizes.whole == 0;
    if (!is_later) {
      is_same = is_same && checksum == record.checksum &&
                sizes.packed == record.sizes.packed &&
                sizes.whole == record.sizes.whole;
    }
    if (!is_same) return std::nullopt;
    return begin + rest->size();
  }

  Bytes file_;
  const ZipEnd& end_;
  ZipPacking packing_;
  Problems& problems_;
};

void check_overlaps(const std::vector<ZipEntry>& entries, Problems& problems) {
  std::vector<const ZipEntry*> sorted;
  for (const ZipEntry& entry : entries) sorted.push_back(&entry);
  std::ranges::sort(sorted, {}, &ZipEntry::header);
  for (size_t i = 1; i < sorted.size(); ++i) {
    const ZipEntry &a = *sorted[i - 1], &b = *sorted[i];
    if (b.header >= a.begin + a.bytes) continue;
    problems.add("", fmt::format("entries '{}' and '{}' overlap", shown(a.name),
                                 shown(b.name)));
  }
}

}  // namespace

ZipArchive::ZipArchive(Bytes file, std::string_view name, ZipPacking packing)
    : file_(file) {
  ZipEnd end = find_zip_end(file, name, kMaxEntries);
  Problems problems;
  entries_ = DirectoryReader(file, end, packing, problems).read();
  check_overlaps(entries_, problems);
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (index_.emplace(entries_[i].name, i).second) continue;
    problems.add(
        "", fmt::format("entry '{}' occurs twice", shown(entries_[i].name)));
  }
  problems.throw_if_any("zip", name);
}

const ZipEntry* ZipArchive::find(std::string_view name) const {
  auto found = index_.find(name);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

Bytes ZipArchive::content(const ZipEntry& entry) const {
  return file_.subspan(entry.begin, entry.bytes);
}

bool ZipArchive::has_right_checksum(const ZipEntry& entry) const {
  return crc32(content(entry)) == entry.checksum;
}

}  // namespace braid::io
