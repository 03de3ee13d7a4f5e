// A file that slots lie in, and all that can happen to it.
#include "braid/runtime/spill_file.h"

#include <fcntl.h>

#include <cstring>
#include <thread>

#include "io/scratch.h"
#include "thrown.h"

namespace braid::runtime {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

Bytes some_bytes(size_t size, int first = 1) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>((static_cast<size_t>(first) + i) % 251);
  }
  return bytes;
}

// Where the process has a file of that folder open, though it has no name.
std::vector<fs::path> open_files(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    std::string target = fs::read_symlink(entry.path(), gone).string();
    if (target.starts_with(folder.string())) found.push_back(entry.path());
  }
  return found;
}

class SpillFileTest : public testing::Test {
 protected:
  // 1000 bytes in parts of 250, nothing, and a million bytes.
  SpillFile make() {
    return SpillFile(folder_.path(),
                     {{"a", 1000, 4}, {"none", 0, 2}, {"b", 1'000'003, 1}});
  }
  Bytes read(SpillFile& file, size_t area, int64_t part, size_t size) {
    Bytes bytes(size, std::byte{77});
    file.read(area, part, bytes);
    return bytes;
  }
  // Another process's hand in the file.
  int meddle() {
    std::vector<fs::path> files = open_files(folder_.path());
    EXPECT_EQ(files.size(), 1u);
    return ::open(files.at(0).c_str(), O_RDWR | O_CLOEXEC);
  }
  std::string error_of_read(SpillFile& file, size_t area, size_t size) {
    return thrown_by<std::runtime_error>([&] { read(file, area, 0, size); });
  }

  io::ScratchDirectory folder_;
};

TEST_F(SpillFileTest, BeginsWithZerosAndHasItsSizeFromTheStart) {
  SpillFile file = make();
  EXPECT_EQ(file.bytes(), 1024 + 1'000'064);
  int other = meddle();
  struct stat found {};
  ::fstat(other, &found);
  ::close(other);
  EXPECT_EQ(found.st_size, file.bytes());
  EXPECT_GE(found.st_blocks * 512, file.bytes());
  EXPECT_EQ(found.st_mode & 0777, 0600u);
  EXPECT_EQ(read(file, 0, 0, 1000), Bytes(1000));
  EXPECT_EQ(read(file, 2, 0, 1'000'003), Bytes(1'000'003));
}

TEST_F(SpillFileTest, GivesBackWhatWasWritten) {
  SpillFile file = make();
  Bytes a = some_bytes(1000), b = some_bytes(1'000'003, 9);
  file.write(0, 0, a);
  file.write(2, 0, b);
  EXPECT_EQ(read(file, 0, 0, 1000), a);
  EXPECT_EQ(read(file, 2, 0, 1'000'003), b);
  EXPECT_EQ(read(file, 1, 0, 0), Bytes());
}

TEST_F(SpillFileTest, PartsAreWrittenAndReadAlone) {
  SpillFile file = make();
  Bytes a = some_bytes(1000), part = some_bytes(250, 100);
  file.write(0, 0, a);
  file.write(0, 2, part);
  std::ranges::copy(part, a.begin() + 500);
  EXPECT_EQ(read(file, 0, 0, 1000), a);
  EXPECT_EQ(read(file, 0, 2, 250), part);
  EXPECT_EQ(read(file, 0, 1, 500), Bytes(a.begin() + 250, a.begin() + 750));
  EXPECT_THROW(read(file, 0, 3, 500), std::logic_error);
  EXPECT_THROW(read(file, 0, 0, 100), std::logic_error);
}

TEST_F(SpillFileTest, LeavesNoNameAndNoRoomBehind) {
  {
    SpillFile file = make(), second = make();
    EXPECT_EQ(io::num_entries(folder_.path()), 0u);
    EXPECT_EQ(open_files(folder_.path()).size(), 2u);
  }
  EXPECT_TRUE(open_files(folder_.path()).empty());
}

TEST_F(SpillFileTest, WhatOthersLeftInTheFolderDoesNotMatter) {
  io::write_text(folder_.path() / "braid-spill-AAAAAA", "of another time");
  SpillFile file = make();
  file.write(0, 0, some_bytes(1000));
  EXPECT_EQ(read(file, 0, 0, 1000), some_bytes(1000));
  EXPECT_EQ(io::num_entries(folder_.path()), 1u);
}

TEST_F(SpillFileTest, AnotherContentIsNoticed) {
  SpillFile file = make();
  file.write(2, 0, some_bytes(1'000'003));
  int other = meddle();
  std::byte bad{0xee};
  EXPECT_EQ(::pwrite(other, &bad, 1, 1024 + 700'000), 1);
  ::close(other);
  std::string text = error_of_read(file, 2, 1'000'003);
  io::expect_contains(text, "[spill] the file in '" + folder_.path().string());
  io::expect_contains(text, "holds another content than was written");
  io::expect_contains(text, "at slot 'b'");
  io::expect_contains(text, "HINT: ");
  // Nothing goes on with it, not even where the content is right.
  EXPECT_EQ(error_of_read(file, 0, 1000), text);
  Bytes more = some_bytes(1000);
  EXPECT_EQ(thrown_by<std::runtime_error>([&] { file.write(0, 0, more); }),
            text);
}

TEST_F(SpillFileTest, ZerosThatAreNoneAreNoticed) {
  SpillFile file = make();
  int other = meddle();
  std::byte bad{1};
  EXPECT_EQ(::pwrite(other, &bad, 1, 999), 1);
  ::close(other);
  EXPECT_EQ(read(file, 0, 0, 750), Bytes(750));
  io::expect_contains(error_of_read(file, 0, 1000), "another content");
}

TEST_F(SpillFileTest, AFileThatWasCutOffIsNoticed) {
  SpillFile file = make();
  file.write(2, 0, some_bytes(1'000'003));
  int other = meddle();
  EXPECT_EQ(::ftruncate(other, 500'000), 0);
  ::close(other);
  EXPECT_EQ(read(file, 0, 0, 1000), Bytes(1000));
  io::expect_contains(error_of_read(file, 2, 1'000'003), "is cut off");
}

// Writing makes it long again; what is lost stays lost.
TEST_F(SpillFileTest, AHoleIsNoticed) {
  SpillFile file(folder_.path(), {{"a", 1 << 20, 1}, {"b", 64, 1}});
  file.write(0, 0, some_bytes(1 << 20));
  int other = meddle();
  EXPECT_EQ(::ftruncate(other, 1 << 19), 0);
  ::close(other);
  file.write(1, 0, some_bytes(64));
  EXPECT_EQ(read(file, 1, 0, 64), some_bytes(64));
  io::expect_contains(error_of_read(file, 0, 1 << 20), "another content");
}

TEST_F(SpillFileTest, AWriteThatFailsIsReportedAndNothingIsReadAgain) {
  SpillFile file = make();
  int other = meddle();
  EXPECT_EQ(::ftruncate(other, 0), 0);
  ::close(other);
  io::SmallDisk small(400'000);
  Bytes much = some_bytes(1'000'003);
  std::string text =
      thrown_by<std::runtime_error>([&] { file.write(2, 0, much); });
  io::expect_contains(text, "cannot be written: File too large");
  EXPECT_EQ(error_of_read(file, 2, 1'000'003), text);
}

TEST_F(SpillFileTest, ADiskThatIsTooSmallIsToldInBytes) {
  io::SmallDisk small(400'000);
  std::string text = thrown_by<std::runtime_error>([&] { make(); });
  io::expect_contains(text, "[spill] the plan keeps 1001088 bytes");
  io::expect_contains(text, "File too large");
  io::expect_contains(text, "are free");
  io::expect_contains(text, "--spill-dir");
  EXPECT_EQ(io::num_entries(folder_.path()), 0u);
  EXPECT_TRUE(open_files(folder_.path()).empty());
}

TEST_F(SpillFileTest, AFolderThatIsNoneIsNamed) {
  fs::path none = folder_.path() / "none";
  std::string text = thrown_by<std::runtime_error>([&] {
    SpillFile(none, {{"a", 8, 1}});
  });
  io::expect_contains(text, "[spill] no file can be made in '" + none.string());
  io::expect_contains(text, "No such file or directory");
  EXPECT_FALSE(fs::exists(none));
}

TEST_F(SpillFileTest, AFolderThatCannotBeWrittenToIsNamed) {
  io::ReadOnly closed(folder_.path());
  std::string text = thrown_by<std::runtime_error>([&] { make(); });
  io::expect_contains(text, "Permission denied");
}

TEST_F(SpillFileTest, DifferentAreasMayBeUsedAtOnce) {
  std::vector<SpillArea> areas;
  for (int i = 0; i < 4; ++i) areas.push_back({std::to_string(i), 300'000, 3});
  SpillFile file(folder_.path(), areas);
  std::vector<std::thread> threads;
  std::vector<int> right(4);
  for (size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 10; ++round) {
        Bytes content = some_bytes(300'000, static_cast<int>(i) * 50 + round);
        file.write(i, 0, content);
        Bytes found(300'000);
        file.read(i, 0, found);
        right[i] += found == content;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, std::vector<int>(4, 10));
}

}  // namespace
}  // namespace braid::runtime
