#include "braid/io/file.h"

#include <sys/stat.h>

#include <utility>
#include <vector>

#include "scratch.h"

namespace braid::io {
namespace {

namespace fs = std::filesystem;

TEST(MappedFile, shows_the_content) {
  ScratchDirectory scratch;
  write_text(scratch.path() / "a", "hello");
  MappedFile file(scratch.path() / "a");
  EXPECT_EQ(text_of(file.bytes()), "hello");
}

TEST(MappedFile, of_an_empty_file_is_empty) {
  ScratchDirectory scratch;
  write_text(scratch.path() / "a", "");
  EXPECT_TRUE(MappedFile(scratch.path() / "a").bytes().empty());
}

TEST(MappedFile, keeps_its_place_when_moved) {
  ScratchDirectory scratch;
  write_text(scratch.path() / "a", "first");
  write_text(scratch.path() / "b", "second");
  MappedFile a(scratch.path() / "a"), b(scratch.path() / "b");
  const std::byte* place = b.bytes().data();
  a = std::move(b);
  EXPECT_EQ(a.bytes().data(), place);
  MappedFile c(std::move(a));
  EXPECT_EQ(c.bytes().data(), place);
  EXPECT_EQ(text_of(c.bytes()), "second");
  EXPECT_TRUE(a.bytes().empty());
}

TEST(MappedFile, keeps_the_old_content_when_the_file_is_replaced) {
  ScratchDirectory scratch;
  fs::path path = scratch.path() / "a";
  write_file_atomically(path, "old");
  MappedFile file(path);
  write_file_atomically(path, "newer");
  EXPECT_EQ(text_of(file.bytes()), "old");
}

TEST(MappedFile, names_path_and_reason_of_a_missing_file) {
  std::string text =
      error_of<std::runtime_error>([] { MappedFile("/no/such/place.bin"); });
  expect_contains(text, "[file.read]");
  expect_contains(text, "/no/such/place.bin");
  expect_contains(text, "No such file or directory");
  expect_contains(text, "HINT:");
}

TEST(MappedFile, opens_only_what_exists_when_asked_so) {
  ScratchDirectory scratch;
  write_text(scratch.path() / "a", "x");
  EXPECT_FALSE(MappedFile::open_if_exists(scratch.path() / "b"));
  EXPECT_FALSE(MappedFile::open_if_exists(scratch.path() / "a" / "b"));
  EXPECT_TRUE(MappedFile::open_if_exists(scratch.path() / "a"));
  EXPECT_THROW(MappedFile::open_if_exists(scratch.path()), std::runtime_error);
}

TEST(MappedFile, refuses_directories_and_pipes_without_hanging) {
  ScratchDirectory scratch;
  expect_contains(
      error_of<std::runtime_error>([&] { MappedFile(scratch.path()); }),
      "is a directory");
  fs::path pipe = scratch.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  expect_contains(error_of<std::runtime_error>([&] { MappedFile file(pipe); }),
                  "not a regular file");
}

TEST(WriteFile, joins_the_pieces_and_leaves_nothing_else) {
  ScratchDirectory scratch;
  std::vector<Bytes> pieces = {bytes_of("ab"), {}, bytes_of("c")};
  write_file_atomically(scratch.path() / "a", pieces);
  EXPECT_EQ(read_text(scratch.path() / "a"), "abc");
  EXPECT_EQ(num_entries(scratch.path()), 1u);
}

TEST(WriteFile, writes_empty_files_and_replaces_old_ones) {
  ScratchDirectory scratch;
  fs::path path = scratch.path() / "a";
  write_file_atomically(path, "something");
  write_file_atomically(path, "");
  EXPECT_EQ(fs::file_size(path), 0u);
}

TEST(WriteFile, passes_by_the_temporary_file_of_a_killed_process) {
  ScratchDirectory scratch;
  std::string left = ".braid-tmp-" + std::to_string(::getpid()) + "-0";
  write_text(scratch.path() / left, "left");
  write_file_atomically(scratch.path() / "a", "new");
  EXPECT_EQ(read_text(scratch.path() / "a"), "new");
  EXPECT_EQ(read_text(scratch.path() / left), "left");
}

TEST(WriteFile, accepts_a_name_without_directory_and_a_very_long_one) {
  ScratchDirectory scratch;
  fs::path before = fs::current_path();
  fs::current_path(scratch.path());
  std::string name(255, 'n');
  write_file_atomically(name, "x");
  fs::current_path(before);
  EXPECT_EQ(read_text(scratch.path() / name), "x");
}

TEST(WriteFile, keeps_the_old_content_when_the_disk_is_full) {
  ScratchDirectory scratch;
  fs::path path = scratch.path() / "a";
  write_file_atomically(path, "old");
  std::string big(100'000, 'x');
  std::string text = error_of<std::runtime_error>([&] {
    SmallDisk disk(4096);
    write_file_atomically(path, big);
  });
  expect_contains(text, "[file.write] cannot write '" + path.string() + "'");
  expect_contains(text, "HINT: free some space");
  EXPECT_EQ(read_text(path), "old");
  EXPECT_EQ(num_entries(scratch.path()), 1u);
}

TEST(WriteFile, explains_a_read_only_directory) {
  ScratchDirectory scratch;
  std::string text = error_of<std::runtime_error>([&] {
    ReadOnly closed(scratch.path());
    write_file_atomically(scratch.path() / "a", "x");
  });
  expect_contains(text, "Permission denied");
  expect_contains(text, "HINT: check the permissions");
}

TEST(WriteFile, explains_a_missing_parent_and_a_directory_in_the_way) {
  ScratchDirectory scratch;
  expect_contains(error_of<std::runtime_error>([&] {
                    write_file_atomically(scratch.path() / "no/a", "x");
                  }),
                  "missing parent directory");
  fs::create_directories(scratch.path() / "dir/inside");
  EXPECT_THROW(write_file_atomically(scratch.path() / "dir", "x"),
               std::runtime_error);
  EXPECT_EQ(num_entries(scratch.path()), 1u);
}

TEST(SyncDirectory, works_and_explains_failure) {
  ScratchDirectory scratch;
  sync_directory(scratch.path());
  expect_contains(error_of<std::runtime_error>(
                      [&] { sync_directory(scratch.path() / "no"); }),
                  "[file.sync]");
}

}  // namespace
}  // namespace braid::io
