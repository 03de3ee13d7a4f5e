#include "braid/cli/help_formatter.h"

#include <gtest/gtest.h>

namespace braid::cli {
namespace {

TEST(HelpFormatter, LongLinesGoOnBelowTheirColumn) {
  EXPECT_EQ(fit_lines("  --to    a b c\n", 12, 10),
            "  --to    a\n          b\n          c\n");
  EXPECT_EQ(fit_lines("  --to    a b c\n", 13, 10),
            "  --to    a b\n          c\n");
}

TEST(HelpFormatter, WhatFitsAndWhatCannotBeBrokenStays) {
  EXPECT_EQ(fit_lines("short\n\nlines\n", 10, 4), "short\n\nlines\n");
  EXPECT_EQ(fit_lines("  averylongword\n", 8, 4), "  averylongword\n");
}

}  // namespace
}  // namespace braid::cli
