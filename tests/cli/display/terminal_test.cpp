#include "braid/cli/display/terminal.h"

#include <gtest/gtest.h>
#include <stdlib.h>

namespace braid::cli {
namespace {

TEST(Terminal, CountsColumnsAndNotBytes) {
  EXPECT_EQ(text_width(""), 0);
  EXPECT_EQ(text_width("abc"), 3);
  EXPECT_EQ(text_width("né━"), 3);
  EXPECT_EQ(text_width("模型"), 4);
  EXPECT_EQ(text_width("e\u0301"), 1);  // an accent over the e
}

TEST(Terminal, CutsBetweenCharacters) {
  EXPECT_EQ(fit_text("abc", 3), "abc");
  EXPECT_EQ(fit_text("abc", 2), "ab");
  EXPECT_EQ(fit_text("abc", 0), "");
  EXPECT_EQ(fit_text("né━x", 3), "né━");
  EXPECT_EQ(fit_text("模型", 3), "模");
  EXPECT_EQ(fit_text("e\u0301x", 1), "e\u0301");
}

TEST(Terminal, ReplacesWhatMovesTheCursorOrIsNoText) {
  EXPECT_EQ(fit_text("a\nb\x1b[2Jc\td", 99), "a?b?[2Jc?d");
  EXPECT_EQ(fit_text("a\xff\xc3", 99), "a??");
  EXPECT_EQ(fit_text("\xe2\x94", 99), "??");
  EXPECT_EQ(fit_text("\xc2\x9bx", 99), "?x");  // an escape in one character
}

// Whatever the bytes: it ends, and it fits.
TEST(Terminal, FitsAnyBytes) {
  uint32_t number = 1;
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (int i = 0; i < 12; ++i) {
      number = number * 1664525 + 1013904223;
      text += static_cast<char>(number >> 24);
    }
    EXPECT_LE(text_width(fit_text(text, 5)), 5);
  }
}

TEST(Terminal, TakesItsSizeFromTheEnvironmentFirst) {
  ::setenv("COLUMNS", "33", 1);
  ::setenv("LINES", "7", 1);
  EXPECT_EQ(terminal_width(stdout), 33);
  EXPECT_EQ(terminal_height(stdout), 7);
  for (const char* wrong : {"0", "-4", "x", "9x", ""}) {
    ::setenv("COLUMNS", wrong, 1);
    EXPECT_GT(terminal_width(stdout), 9) << wrong;
  }
  ::unsetenv("COLUMNS");
  ::unsetenv("LINES");
}

}  // namespace
}  // namespace braid::cli
