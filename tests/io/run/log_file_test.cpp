#include "braid/io/run/log_file.h"

#include "io/scratch.h"

namespace braid::io {
namespace {

constexpr std::chrono::system_clock::time_point kTime{
    std::chrono::seconds(1'772'357'402)};

TEST(LogFile, lines_begin_with_the_time) {
  EXPECT_EQ(log_line(kTime, "saved"), "2026-03-01 09:30:02  saved\n");
  EXPECT_EQ(log_line(kTime, "saved\n"), "2026-03-01 09:30:02  saved\n");
  EXPECT_EQ(log_line(kTime, "[a] b\nHINT: c"),
            "2026-03-01 09:30:02  [a] b\n"
            "                     HINT: c\n");
}

TEST(LogFile, grows) {
  ScratchDirectory scratch;
  std::filesystem::path path = scratch.path() / "log.txt";
  LogFile(path).add("first");
  LogFile(path).add("second");
  std::string text = read_text(path);
  expect_contains(text, "  first\n20");
  EXPECT_TRUE(text.ends_with("  second\n"));
}

}  // namespace
}  // namespace braid::io
