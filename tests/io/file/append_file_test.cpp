#include "braid/io/file/append_file.h"

#include <thread>
#include <vector>

#include "io/scratch.h"

namespace braid::io {
namespace {

TEST(AppendFile, creates_and_goes_on) {
  ScratchDirectory scratch;
  std::filesystem::path path = scratch.path() / "a";
  AppendFile(path).append("one\n");
  AppendFile file(path);
  file.append("");
  file.append("two\n");
  file.sync();
  EXPECT_EQ(read_text(path), "one\ntwo\n");
}

TEST(AppendFile, full_disk_leaves_whole_pieces) {
  ScratchDirectory scratch;
  std::filesystem::path path = scratch.path() / "a";
  AppendFile file(path);
  file.append("whole\n");
  std::string text = error_of<std::runtime_error>([&] {
    SmallDisk disk(10);
    file.append("does not fit\n");
  });
  expect_contains(text, path.string());
  expect_contains(text, "HINT: free some space");
  EXPECT_EQ(read_text(path), "whole\n");
  file.append("later\n");
  EXPECT_EQ(read_text(path), "whole\nlater\n");
}

TEST(AppendFile, file_that_cannot_be_opened_is_explained) {
  ScratchDirectory scratch;
  std::filesystem::path path = scratch.path() / "no" / "a";
  std::string text =
      error_of<std::runtime_error>([&] { AppendFile file(path); });
  expect_contains(text, path.string());
  expect_contains(text, "HINT: check the spelling");
  EXPECT_THROW(AppendFile file(scratch.path()), std::runtime_error);
}

TEST(AppendFile, pieces_of_threads_stay_whole) {
  ScratchDirectory scratch;
  std::filesystem::path path = scratch.path() / "a";
  AppendFile file(path);
  {
    std::vector<std::jthread> threads;
    for (char c : {'a', 'b', 'c'}) {
      threads.emplace_back([&file, c] {
        for (int i = 0; i < 200; ++i) file.append(std::string(50, c) + "\n");
      });
    }
  }
  std::istringstream lines(read_text(path));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_EQ(line, std::string(50, line.at(0)));
  }
  EXPECT_EQ(count, 600);
}

}  // namespace
}  // namespace braid::io
