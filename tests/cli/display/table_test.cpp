#include "braid/cli/display/table.h"

#include <gtest/gtest.h>

#include "braid/cli/display/terminal.h"

namespace braid::cli {
namespace {

using Lines = std::vector<std::string>;

std::vector<Column> columns() {
  return {{"name", {"short", "lr=0.001,seed=12"}},
          {"step", {"5/10", "10/10"}, true},
          {"epoch", {"0.5", "1.0"}, true, 0, 2},
          {"lr", {"1.0e-3", "-"}, true, 0, 1},
          {"state", {"training", "done"}}};
}

TEST(Table, ColumnsAreAsWideAsWhatStandsInThem) {
  EXPECT_EQ(table_lines(columns(), 80),
            (Lines{"  name               step  epoch      lr  state",
                   "  short              5/10    0.5  1.0e-3  training",
                   "  lr=0.001,seed=12  10/10    1.0       -  done"}));
}

TEST(Table, LeavesOutWhatCanBeSpared) {
  EXPECT_EQ(table_lines(columns(), 44)[2],
            "  lr=0.001,seed=12  10/10       -  done");
  EXPECT_EQ(table_lines(columns(), 36)[2], "  lr=0.001,seed=12  10/10  done");
}

TEST(Table, NamesLoseTheirMiddleLast) {
  EXPECT_EQ(table_lines(columns(), 31)[2], "  lr=0...ed=12  10/10  done");
  EXPECT_EQ(table_lines(columns(), 31)[1], "  short          5/10  training");
}

TEST(Table, IsNeverWiderThanTheTerminal) {
  std::vector<Column> wild = columns();
  wild[0].cells[0] = "模型-é-\x1b[2J-and-a-long-name";
  for (int width = 0; width < 100; ++width) {
    for (const std::string& line : table_lines(wild, width)) {
      EXPECT_LE(text_width(line), width);
      EXPECT_EQ(line.find('\x1b'), line.npos);
    }
  }
}

TEST(WithoutMiddle, KeepsBothEnds) {
  EXPECT_EQ(without_middle("lr=0.001,seed=12", 16), "lr=0.001,seed=12");
  EXPECT_EQ(without_middle("lr=0.001,seed=12", 11), "lr=0...d=12");
  EXPECT_EQ(without_middle("lr=0.001,seed=12", 3), "lr=");
}

}  // namespace
}  // namespace braid::cli
