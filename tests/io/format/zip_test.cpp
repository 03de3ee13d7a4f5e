#include "braid/io/format/zip.h"

#include "braid/io/format/crc32.h"
#include "io/scratch.h"
#include "io/zip_builder.h"

namespace braid::io {
namespace {

using namespace std::string_literals;

std::vector<ZipPart> two_parts() {
  return {{.name = "a/one", .content = "first"},
          {.name = "a/two", .content = "second part"}};
}

std::string content_of(const std::string& file, std::string_view name) {
  ZipArchive archive(bytes_of(file), "f.zip");
  const ZipEntry* entry = archive.find(name);
  if (!entry) return "(none)";
  EXPECT_TRUE(archive.has_right_checksum(*entry));
  return text_of(archive.content(*entry));
}

std::string refusal(const std::string& file) {
  return error_of<std::runtime_error>(
      [&] { ZipArchive(bytes_of(file), "f.zip"); });
}

// The refusal of two parts of which the first is changed.
template <class Change>
std::string refusal_of_first(Change change, const EndFlaws& end = {}) {
  std::vector<ZipPart> parts = two_parts();
  change(parts[0]);
  return refusal(build_zip(parts, end));
}

TEST(Zip, gives_the_checksum_of_the_standard) {
  EXPECT_EQ(crc32(bytes_of("123456789")), 0xcbf43926u);
  EXPECT_EQ(crc32({}), 0u);
}

TEST(Zip, finds_stored_entries) {
  std::string file = build_zip(two_parts());
  EXPECT_EQ(content_of(file, "a/one"), "first");
  EXPECT_EQ(content_of(file, "a/two"), "second part");
  EXPECT_EQ(content_of(file, "a/three"), "(none)");
  EXPECT_EQ(ZipArchive(bytes_of(file), "f").entries()[1].name, "a/two");
}

TEST(Zip, reads_an_archive_without_entries) {
  std::string file = build_zip({});
  EXPECT_TRUE(ZipArchive(bytes_of(file), "f").entries().empty());
}

TEST(Zip, reads_sizes_of_64_bits_and_sizes_after_the_content) {
  std::vector<ZipPart> parts = two_parts();
  parts[0].is_wide = true;
  parts[1].has_sizes_after = true;
  std::string file = build_zip(parts, {.is_wide = true});
  EXPECT_EQ(content_of(file, "a/one"), "first");
  EXPECT_EQ(content_of(file, "a/two"), "second part");
}

TEST(Zip, reads_over_a_comment_that_looks_like_an_end_record) {
  std::string comment = "PK\x05\x06"s + std::string(30, 'x');
  std::string file = build_zip(two_parts(), {.comment = comment});
  EXPECT_EQ(content_of(file, "a/one"), "first");
}

TEST(Zip, sees_a_changed_byte_by_the_checksum) {
  std::string file = build_zip(two_parts());
  file[file.find("first")] = 'F';
  ZipArchive archive(bytes_of(file), "f");
  EXPECT_FALSE(archive.has_right_checksum(*archive.find("a/one")));
  EXPECT_TRUE(archive.has_right_checksum(*archive.find("a/two")));
}

TEST(Zip, refuses_every_shortened_file) {
  for (bool is_wide : {false, true}) {
    std::string file = build_zip(two_parts(), {.is_wide = is_wide});
    for (size_t size = 0; size < file.size(); ++size) {
      SCOPED_TRACE(size);
      expect_contains(refusal(file.substr(0, size)), "[zip] f.zip: ");
    }
  }
}

TEST(Zip, survives_every_changed_byte) {
  for (bool is_wide : {false, true}) {
    std::vector<ZipPart> parts = two_parts();
    parts[0].is_wide = is_wide;
    std::string file = build_zip(parts, {.is_wide = is_wide});
    for (size_t i = 0; i < file.size(); ++i) {
      for (int bits : {0x01, 0x80, 0xff}) {
        std::string changed = file;
        changed[i] = static_cast<char>(changed[i] ^ bits);
        try {
          ZipArchive archive(bytes_of(changed), "f");
          for (const ZipEntry& entry : archive.entries()) {
            EXPECT_LE(entry.begin + entry.bytes, changed.size());
          }
        } catch (const std::runtime_error&) {
        }
      }
    }
  }
}

TEST(Zip, refuses_names_that_leave_the_archive) {
  for (std::string name :
       {"/etc/passwd", "../x", "a/../../x", "a/..", "./a", "a//b", "C:/x"}) {
    SCOPED_TRACE(name);
    std::string text = refusal_of_first([&](ZipPart& p) { p.name = name; });
    bool is_named = text.find("absolute path") != text.npos ||
                    text.find("leaves its folder") != text.npos;
    EXPECT_TRUE(is_named) << text;
  }
}

TEST(Zip, refuses_names_with_odd_characters) {
  expect_contains(refusal_of_first([](ZipPart& p) { p.name = "a\\b"; }),
                  "backslash");
  for (std::string name : {"a\0b"s, "a\nb"s, "a\x7f"s}) {
    expect_contains(refusal_of_first([&](ZipPart& p) { p.name = name; }),
                    "control character");
  }
  expect_contains(refusal_of_first([](ZipPart& p) { p.name = ""; }),
                  "empty name");
}

TEST(Zip, refuses_compressed_entries_with_a_hint) {
  std::string text = refusal_of_first([](ZipPart& p) {
    p.method = 8;
    p.bytes = uint64_t{1} << 31;
    p.packed_bytes = 5;
  });
  expect_contains(text, "'a/one' is compressed (method 8, 2147483648 bytes");
  expect_contains(text, "HINT: torch.export.save writes archives without");
}

TEST(Zip, refuses_encrypted_entries_and_entries_of_other_parts) {
  expect_contains(refusal_of_first([](ZipPart& p) { p.flags = 1; }),
                  "'a/one' is encrypted");
  expect_contains(refusal_of_first([](ZipPart& p) { p.disk = 1; }),
                  "lies in another part");
  expect_contains(refusal(build_zip(two_parts(), {.disk = 1})),
                  "an archive of several parts");
}

TEST(Zip, refuses_equal_names) {
  expect_contains(refusal_of_first([](ZipPart& p) { p.name = "a/two"; }),
                  "entry 'a/two' occurs twice");
}

TEST(Zip, refuses_sizes_and_offsets_past_the_end) {
  expect_contains(refusal_of_first([](ZipPart& p) { p.bytes = 5000; }),
                  "'a/one' of 5000 bytes at 35 leaves the");
  expect_contains(refusal_of_first([](ZipPart& p) { p.header = 5000; }),
                  "header past the end");
  for (uint64_t huge : {~uint64_t{0}, ~uint64_t{0} - 34, uint64_t{1} << 63}) {
    refusal_of_first([&](ZipPart& p) { p.is_wide = true, p.bytes = huge; });
    refusal_of_first([&](ZipPart& p) { p.is_wide = true, p.header = huge; });
  }
}

TEST(Zip, refuses_entries_that_overlap_each_other_or_the_directory) {
  expect_contains(refusal_of_first([](ZipPart& p) { p.bytes = 6; }),
                  "entries 'a/one' and 'a/two' overlap");
  std::vector<ZipPart> parts = two_parts();
  parts[1] = parts[0];
  parts[1].header = 0;
  expect_contains(refusal(build_zip(parts)), "'a/one' and 'a/one' overlap");
  parts = two_parts();
  parts[1].bytes = 12;
  expect_contains(refusal(build_zip(parts)), "before the directory");
}

TEST(Zip, refuses_headers_that_differ_from_the_directory) {
  expect_contains(refusal_of_first([](ZipPart& p) { p.header_name = "a/xxx"; }),
                  "differs from the directory");
  expect_contains(refusal_of_first([](ZipPart& p) { p.header = 1; }),
                  "no header where the directory says");
  expect_contains(refusal_of_first([](ZipPart& p) { p.packed_bytes = 4; }),
                  "two sizes, 5 and 4");
}

TEST(Zip, refuses_wrong_counts_and_places_of_the_directory) {
  auto with = [](const EndFlaws& end) {
    return refusal(build_zip(two_parts(), end));
  };
  expect_contains(with({.entries = 1}), "bytes after the last entry");
  expect_contains(with({.entries = 3}), "3 entries do not fit");
  expect_contains(with({.is_wide = true, .entries = uint64_t{1} << 40}),
                  "1099511627776 entries do not fit");
  expect_contains(with({.directory = 7}), "does not end at");
  expect_contains(with({.directory_bytes = 7}), "does not end at");
  expect_contains(with({.is_wide = true, .directory = ~uint64_t{0}}),
                  "does not end at");
  expect_contains(with({.before_end = "gap"}), "does not end at");
}

TEST(Zip, refuses_more_entries_than_the_limit) {
  std::vector<ZipPart> parts(ZipArchive::kMaxEntries + 1, {.name = "a"});
  expect_contains(refusal(build_zip(parts, {.is_wide = true})),
                  "100001 entries do not fit");
}

TEST(Zip, refuses_two_end_records_that_disagree) {
  std::string file = build_zip(two_parts(), {.is_wide = true});
  file[file.size() - 12] = 1;  // number of entries in the last record
  expect_contains(refusal(file), "64-bit end record is damaged");
}

TEST(Zip, names_all_bad_entries_at_once) {
  std::vector<ZipPart> parts;
  for (int i = 0; i < 30; ++i) {
    parts.push_back({.name = "../" + std::to_string(i), .content = "x"});
  }
  std::string text = refusal(build_zip(parts));
  expect_contains(text, "30 problems");
  expect_contains(text, "'../0' leaves");
  expect_contains(text, "'../19' leaves");
  expect_contains(text, "and 10 more");
}

}  // namespace
}  // namespace braid::io
