#include "braid/cli/display/display.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "cli/pseudo_terminal.h"

namespace braid::cli {
namespace {

using Lines = std::vector<std::string>;

DisplayState state_of(int64_t step, int64_t steps = 9) {
  DisplayState state;
  state.step = step;
  state.steps = steps;
  state.rows = {{"", 0.25, {}, {}}};
  return state;
}

// A file is no terminal: whole lines, and always one for the last step.
TEST(Display, WritesPlainLinesToAFile) {
  File file(std::tmpfile(), std::fclose);
  {
    Display display(file.get());
    for (int64_t step = 1; step <= 3; ++step) {
      display.update(state_of(step, 3));
    }
    display.finish();
  }
  std::string text = content_of(file.get());
  EXPECT_EQ(text.find("step  3/3  loss 0.25"), 0u) << text;
  EXPECT_EQ(text.find('\r'), text.npos);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
}

TEST(Display, SaysAnEvaluationOnceInAFile) {
  File file(std::tmpfile(), std::fclose);
  Display display(file.get());
  DisplayState state = state_of(1);
  display.update(state);
  state.evaluation = "accuracy 0.5";
  display.update(state);
  display.update(state);
  display.message("saved");
  std::string text = content_of(file.get());
  EXPECT_EQ(text.find("step  1/9"), 0u) << text;
  EXPECT_TRUE(text.ends_with("\neval  accuracy 0.5\nsaved\n")) << text;
  EXPECT_EQ(text.find("eval"), text.rfind("eval"));
}

// The step before the evaluation may have been the last, and shown.
TEST(Display, SaysAStepOnceInAFile) {
  File file(std::tmpfile(), std::fclose);
  Display display(file.get());
  DisplayState state = state_of(9);
  display.update(state);
  state.evaluation = "accuracy 0.5";
  display.update(state);
  display.finish();
  std::string text = content_of(file.get());
  EXPECT_EQ(text.find("step  9/9"), 0u) << text;
  EXPECT_EQ(text.rfind("step  9/9"), 0u) << text;
  EXPECT_TRUE(text.ends_with("\neval  accuracy 0.5\n")) << text;
}

TEST(Display, QuietWritesTheLastLineOnly) {
  File file(std::tmpfile(), std::fclose);
  Display display(file.get(), {.quiet = true});
  display.update(state_of(9));
  display.message("saved");
  display.done("done  runs/a");
  EXPECT_EQ(content_of(file.get()), "done  runs/a\n");
}

TEST(Display, DrawsItsBlockInPlace) {
  PseudoTerminal terminal(60);
  Display display(terminal.out(), {.redraw_period_s = 0});
  for (int64_t step = 1; step <= 5; ++step) display.update(state_of(step));
  Lines lines = terminal.screen().lines;
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].find(" 55 %  ###"), 0u) << lines[0];
  EXPECT_NE(lines[0].find("step  5/9"), lines[0].npos) << lines[0];
  EXPECT_EQ(lines[1].find("loss 0.25"), 0u) << lines[1];
}

TEST(Display, PutsMessagesAboveItsBlock) {
  PseudoTerminal terminal(60);
  {
    Display display(terminal.out(), {.redraw_period_s = 0});
    display.message("before");
    display.update(state_of(1));
    display.message("first\nsecond");
    DisplayState longer = state_of(2);
    longer.evaluation = "accuracy 0.5";
    display.update(longer);
    display.message("third");
    display.update(state_of(9));
    display.done("done");
  }
  Lines lines = terminal.screen().lines;
  ASSERT_EQ(lines.size(), 7u);
  lines[4] = lines[4].substr(0, 5);
  lines[5] = lines[5].substr(0, 4);
  EXPECT_EQ(lines, (Lines{"before", "first", "second", "third", "100 %", "loss",
                          "done"}));
}

TEST(Display, ErrorsBeginOnTheirOwnLine) {
  PseudoTerminal terminal(60);
  try {
    Display display(terminal.out(), {.redraw_period_s = 0});
    display.update(state_of(1));
    throw std::runtime_error("x");
  } catch (const std::runtime_error&) {
    EXPECT_EQ(terminal.screen().column, 0u);
    EXPECT_EQ(terminal.screen().row, 2u);
  }
}

TEST(Display, DrawsAtMostTenTimesASecond) {
  PseudoTerminal terminal(60);
  Display display(terminal.out());
  for (int64_t step = 1; step < 9; ++step) display.update(state_of(step));
  EXPECT_TRUE(terminal.screen().lines.empty());
  display.update(state_of(9));  // the last is always shown
  EXPECT_EQ(terminal.screen().lines.size(), 2u);
}

TEST(Display, DumbTerminalGetsPlainLines) {
  PseudoTerminal terminal(60);
  ::setenv("TERM", "dumb", 1);
  Display display(terminal.out());
  display.update(state_of(9));
  EXPECT_EQ(terminal.screen().lines.size(), 1u);
}

}  // namespace
}  // namespace braid::cli
