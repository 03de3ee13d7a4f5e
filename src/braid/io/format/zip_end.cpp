// Layout after the directory:
//   [64-bit end record, its locator]   torch always writes these
//   end record [, comment]
#include "braid/io/format/zip_end.h"

#include <optional>

#include "braid/base/error.h"
#include "braid/io/format/zip_fields.h"

namespace braid::io {
namespace {

constexpr uint32_t kEndMark = 0x06054b50, kLocatorMark = 0x07064b50,
                   kWideEndMark = 0x06064b50;
constexpr uint64_t kEndBytes = 22, kLocatorBytes = 20, kWideEndBytes = 56;
constexpr uint64_t kMaxComment = 0xffff;
constexpr uint16_t kSmallMax = 0xffff;  // "see the 64-bit record"
constexpr uint32_t kLargeMax = 0xffffffff;

struct End : ZipEnd {
  uint64_t disk = 0;  // the sum of all numbers of parts: 0 in a whole file
};

// The end record is the last one whose comment ends with the file.
std::optional<End> find_small_end(Bytes file) {
  for (uint64_t comment = 0; comment <= kMaxComment; ++comment) {
    if (file.size() < kEndBytes + comment) return std::nullopt;
    uint64_t begin = file.size() - kEndBytes - comment;
    ZipFields fields(file.subspan(begin, kEndBytes));
    if (fields.u32() != kEndMark) continue;
    End end;
    end.begin = begin;
    end.disk = uint64_t{fields.u16()} + fields.u16();
    uint64_t entries_here = fields.u16();
    end.entries = fields.u16();
    end.disk += end.entries != entries_here;
    end.directory_bytes = fields.u32();
    end.directory = fields.u32();
    if (fields.u16() == comment) return end;
  }
  return std::nullopt;
}

// A number of the small record is the wide one, or says "look there".
bool agrees(uint64_t small, uint64_t wide, uint64_t limit) {
  return small == wide || small == limit;
}

std::optional<End> read_wide_end(Bytes file, const End& small,
                                 uint64_t locator) {
  ZipFields place(file.subspan(locator + 4, kLocatorBytes - 4));
  uint64_t disk = place.u32(), begin = place.u64(), num_disks = place.u32();
  auto bytes = part_of(file, begin, kWideEndBytes);
  if (!bytes) return std::nullopt;
  ZipFields fields(*bytes);
  uint64_t length = 0;
  if (fields.u32() != kWideEndMark || (length = fields.u64()) > locator ||
      begin + 12 + length != locator) {
    return std::nullopt;
  }
  fields.skip(4);
  End end;
  end.begin = begin;
  end.disk = disk + (num_disks > 1) + fields.u32();
  end.disk += fields.u32();
  uint64_t entries_here = fields.u64();
  end.entries = fields.u64();
  end.disk += end.entries != entries_here;
  end.directory_bytes = fields.u64();
  end.directory = fields.u64();
  bool agree = agrees(small.entries, end.entries, kSmallMax) &&
               agrees(small.directory_bytes, end.directory_bytes, kLargeMax) &&
               agrees(small.directory, end.directory, kLargeMax);
  if (!agree) return std::nullopt;
  return end;
}

End find_end(Bytes file, std::string_view name) {
  std::optional<End> end = find_small_end(file);
  if (!end) {
    fail_world(
        "[zip] {}: no end of a zip directory in {} bytes\n"
        "HINT: the file is cut short or not a zip archive",
        name, file.size());
  }
  if (end->begin < kLocatorBytes) return *end;
  uint64_t locator = end->begin - kLocatorBytes;
  if (ZipFields(file.subspan(locator, 4)).u32() != kLocatorMark) return *end;
  end = read_wide_end(file, *end, locator);
  if (!end) fail_world("[zip] {}: the 64-bit end record is damaged", name);
  return *end;
}

void check_end(const End& end, std::string_view name, uint64_t max_entries) {
  if (end.disk != 0) {
    fail_world("[zip] {}: an archive of several parts is not supported", name);
  }
  if (end.directory > end.begin ||
      end.directory_bytes != end.begin - end.directory) {
    fail_world(
        "[zip] {}: a directory of {} bytes at {} does not end at {}, where "
        "the end record begins",
        name, end.directory_bytes, end.directory, end.begin);
  }
  if (end.entries > max_entries ||
      end.entries > end.directory_bytes / kZipRecordBytes) {
    fail_world(
        "[zip] {}: {} entries do not fit (directory of {} bytes, limit {})",
        name, end.entries, end.directory_bytes, max_entries);
  }
}

}  // namespace

ZipEnd find_zip_end(Bytes file, std::string_view name, uint64_t max_entries) {
  End end = find_end(file, name);
  check_end(end, name, max_entries);
  return end;
}

}  // namespace braid::io
