#include "braid/io/file/file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <thread>
#include <utility>
#include <vector>

#include "io/scratch.h"

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

TEST(WriteFile, replaces_what_a_link_leads_to) {
  ScratchDirectory scratch;
  fs::path path = scratch.path() / "file";
  write_text(path, "old");
  fs::create_directory(scratch.path() / "links");
  fs::create_symlink("../file", scratch.path() / "links/one");
  fs::create_symlink("one", scratch.path() / "links/two");
  write_file_atomically(scratch.path() / "links/two", "new");
  EXPECT_EQ(read_text(path), "new");
  EXPECT_TRUE(fs::is_symlink(scratch.path() / "links/two"));
  EXPECT_EQ(num_entries(scratch.path() / "links"), 2u);
}

TEST(WriteFile, creates_what_a_link_leads_to) {
  ScratchDirectory scratch;
  fs::create_symlink("new", scratch.path() / "link");
  write_file_atomically(scratch.path() / "link", "x");
  EXPECT_TRUE(fs::is_symlink(scratch.path() / "link"));
  EXPECT_EQ(read_text(scratch.path() / "new"), "x");
}

TEST(WriteFile, refuses_links_in_a_circle) {
  ScratchDirectory scratch;
  fs::create_symlink("b", scratch.path() / "a");
  fs::create_symlink("a", scratch.path() / "b");
  expect_contains(error_of<std::runtime_error>([&] {
                    write_file_atomically(scratch.path() / "a", "x");
                  }),
                  "Too many levels of symbolic links");
}

// Root may write them, and would not notice.
TEST(WriteFile, refuses_a_file_that_is_read_only) {
  ScratchDirectory scratch;
  fs::path path = scratch.path() / "a";
  write_text(path, "old");
  fs::permissions(path, fs::perms::owner_read);
  std::string text =
      error_of<std::runtime_error>([&] { write_file_atomically(path, "new"); });
  expect_contains(text, "'" + path.string() + "' is read-only\nHINT: ");
  EXPECT_EQ(read_text(path), "old");
}

TEST(WriteFile, writes_into_what_is_no_regular_file) {
  ScratchDirectory scratch;
  fs::path path = scratch.path() / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0666), 0);
  std::string got;
  std::thread reader([&] { got = read_text(path); });
  write_file_atomically(path, "through");
  reader.join();
  EXPECT_EQ(got, "through");
  EXPECT_TRUE(fs::is_fifo(path));
  EXPECT_EQ(num_entries(scratch.path()), 1u);
}

// 1 to `bytes`, as a file that is mapped.
MappedFile numbered_file(const fs::path& path, size_t bytes) {
  std::string text(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i % 251 + 1);
  write_text(path, text);
  return MappedFile(path);
}

TEST(MappedFile, survives_the_loss_of_its_end) {
  ScratchDirectory scratch;
  fs::path path = scratch.path() / "data";
  MappedFile file = numbered_file(path, 1'000'000);
  file.check();
  fs::resize_file(path, 5000);
  EXPECT_EQ(file.bytes()[4000], std::byte{4000 % 251 + 1});
  EXPECT_EQ(file.bytes()[999'999], std::byte{0});
  std::string text = error_of<std::runtime_error>([&] { file.check(); });
  expect_contains(text, "'" + path.string() + "' became shorter");
  expect_contains(text, "5000 bytes, 1000000 when it was opened");
  expect_contains(text, "HINT: ");
}

// The last page is there, so that no fault tells.
TEST(MappedFile, notices_the_loss_of_a_few_bytes) {
  ScratchDirectory scratch;
  MappedFile file = numbered_file(scratch.path() / "data", 10'000);
  fs::resize_file(scratch.path() / "data", 9'990);
  EXPECT_THROW(file.check(), std::runtime_error);
}

// Who writes a file anew cuts it first.
TEST(MappedFile, remembers_a_loss_that_was_made_good) {
  ScratchDirectory scratch;
  fs::path path = scratch.path() / "data";
  MappedFile file = numbered_file(path, 100'000);
  fs::resize_file(path, 0);
  EXPECT_EQ(file.bytes()[50'000], std::byte{0});
  fs::resize_file(path, 100'000);
  expect_contains(error_of<std::runtime_error>([&] { file.check(); }),
                  "could not be read");
}

TEST(MappedFile, stays_when_its_name_gets_another_file) {
  ScratchDirectory scratch;
  fs::path path = scratch.path() / "data";
  MappedFile file = numbered_file(path, 10'000);
  write_file_atomically(path, "short");
  file.check();
  EXPECT_EQ(file.bytes()[9'999], std::byte{9'999 % 251 + 1});
  fs::remove(path);
  file.check();
}

// By the signal, or by what handled it before: sanitizers report and exit.
bool ends_by_fault(int status) {
  return testing::KilledBySignal(SIGBUS)(status) ||
         (WIFEXITED(status) && WEXITSTATUS(status) != 0);
}

TEST(MappedFile, a_fault_elsewhere_ends_the_process_as_before) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  ScratchDirectory scratch;
  MappedFile guarded = numbered_file(scratch.path() / "guarded", 10'000);
  fs::path path = scratch.path() / "other";
  write_text(path, std::string(10'000, 'x'));
  int file = ::open(path.c_str(), O_RDONLY);
  void* data = ::mmap(nullptr, 10'000, PROT_READ, MAP_PRIVATE, file, 0);
  ASSERT_NE(data, MAP_FAILED);
  fs::resize_file(path, 0);
  EXPECT_EXIT(
      {
        volatile char c = static_cast<const char*>(data)[9'000];
        static_cast<void>(c);
      },
      ends_by_fault, "");
  ::munmap(data, 10'000);
  ::close(file);
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
