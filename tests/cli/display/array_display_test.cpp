#include "braid/cli/display/array_display.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/member_reports.h"
#include "cli/pseudo_terminal.h"

namespace braid::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using train::ArrayReport;
using train::LogLevel;
using train::MemberState;

ArrayReport ended(ArrayReport report) {
  for (train::MemberReport& member : report.members) {
    if (!has_ended(member)) member.state = MemberState::kDone;
  }
  return report;
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != text.npos; ++at) ++found;
  return found;
}

TEST(ArrayDisplay, WritesALineForAllAndOneForEachFailure) {
  File file(std::tmpfile(), std::fclose);
  ArrayDisplay display({.plain_period_s = 1e9}, file.get());
  ArrayReport report = many_members(3);
  display.on_array(report);
  report.members[1].evaluation = {{"accuracy", 0.4}};
  report.members[1].best = {"accuracy", true, 0.5, 1};
  display.on_array(report);
  display.on_array(report);
  report.members[2].state = MemberState::kFailed;
  report.members[0].state = MemberState::kStoppedEarly;
  display.on_array(report);
  report.members[1].state = MemberState::kDone;
  display.on_array(report);
  display.on_array(report);
  std::string text = content_of(file.get());
  EXPECT_THAT(text, StartsWith("models  3 training  step    3/300"));
  EXPECT_EQ(count(text, "models  "), 2u) << text;
  EXPECT_EQ(count(text, "\nfailed: NaN  m2  step 2\n"), 1u) << text;
  EXPECT_EQ(count(text, "\n"), 3u) << text;
  EXPECT_THAT(text, HasSubstr("  best m1: accuracy 0.5  "));
  EXPECT_EQ(text.find('\r'), text.npos);
}

TEST(ArrayDisplay, PlainLinesBecomeRarer) {
  EXPECT_EQ(longer_pause(2, 60), 3);
  EXPECT_EQ(longer_pause(50, 60), 60);
  EXPECT_EQ(longer_pause(60, 60), 60);
  EXPECT_EQ(longer_pause(1e9, 60), 1e9);
  EXPECT_EQ(longer_pause(0, 60), 0);
}

// What a run had done before it was resumed is no news.
TEST(ArrayDisplay, TheFirstReportHasNoEvents) {
  File file(std::tmpfile(), std::fclose);
  ArrayDisplay display({}, file.get());
  display.on_array(some_members());
  std::string text = content_of(file.get());
  EXPECT_EQ(count(text, "\n"), 1u) << text;
}

TEST(ArrayDisplay, DrawsItsTableInPlace) {
  PseudoTerminal terminal(90);
  ArrayDisplay display({.redraw_period_s = 0}, terminal.out());
  ArrayReport report = many_members(3);
  for (int64_t step = 1; step <= 5; ++step) {
    report.members[0].step = step;
    display.on_array(report);
  }
  const auto& lines = terminal.screen().lines;
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_THAT(lines[0], StartsWith("  2 %  "));
  EXPECT_THAT(lines[3], StartsWith("  m0    5/100"));
}

TEST(ArrayDisplay, MessagesAndFailuresStayAboveTheTable) {
  PseudoTerminal terminal(90);
  ArrayDisplay display({.redraw_period_s = 0}, terminal.out());
  display.on_message(LogLevel::kInfo, "before");
  ArrayReport report = many_members(2);
  display.on_array(report);
  display.on_message(LogLevel::kDebug, "not shown");
  display.on_message(LogLevel::kWarning, "careful");
  report.members[1].state = MemberState::kFailed;
  display.on_array(report);
  const auto& lines = terminal.screen().lines;
  ASSERT_EQ(lines.size(), 3u + 5u);
  EXPECT_EQ(lines[0], "before");
  EXPECT_EQ(lines[1], "careful");
  EXPECT_EQ(lines[2], "failed: NaN  m1  step 1");
  EXPECT_THAT(lines[7], HasSubstr("failed: NaN"));
}

// 24 lines high: the rows that fit, and how many more there are.
TEST(ArrayDisplay, FitsTheTerminal) {
  PseudoTerminal terminal(80);
  ArrayDisplay display({}, terminal.out());
  display.on_array(many_members(40));
  const auto& lines = terminal.screen().lines;
  EXPECT_LT(lines.size(), 24u);
  EXPECT_EQ(lines.back(), "  ... 22 more: 22 training");
}

TEST(ArrayDisplay, TheBestComeFirstWhereNotAllFit) {
  PseudoTerminal terminal(80);
  ArrayDisplay display({}, terminal.out());
  ArrayReport report = many_members(40);
  report.members[1].best = {"accuracy", true, 0.5, 1};
  report.members[30].best = {"accuracy", true, 0.75, 1};
  report.members[35].loss = 0.25;
  report.members[39].best = {"accuracy", true, 0.9, 1};
  report.members[39].state = MemberState::kFailed;
  display.on_array(report);
  const auto& lines = terminal.screen().lines;
  size_t first = 0;
  while (first < lines.size() && !lines[first].starts_with("  m")) ++first;
  ASSERT_LT(first + 3, lines.size());
  EXPECT_THAT(lines[first], StartsWith("  m30 "));
  EXPECT_THAT(lines[first + 1], StartsWith("  m1 "));
  EXPECT_THAT(lines[first + 2], StartsWith("  m35 "));
  EXPECT_THAT(lines[first + 3], StartsWith("  m0 "));
  EXPECT_EQ(lines.back(), "  ... 22 more: 21 training, 1 failed");
}

TEST(ArrayDisplay, TheEndIsShownAtOnce) {
  PseudoTerminal terminal(90);
  ArrayDisplay display({.redraw_period_s = 1e9}, terminal.out());
  ArrayReport report = many_members(2);
  display.on_array(report);
  report.members[0].step = 77;
  display.on_array(report);
  EXPECT_THAT(terminal.screen().lines[3], Not(HasSubstr("77/100")));
  display.on_array(ended(report));
  EXPECT_THAT(terminal.screen().lines[0], StartsWith("100 %"));
  EXPECT_THAT(terminal.screen().lines[3], HasSubstr("77/100"));
}

TEST(ArrayDisplay, EndsWithTheLeaderboard) {
  File file(std::tmpfile(), std::fclose);
  ArrayDisplay display({}, file.get());
  display.done({{"a", MemberState::kDone, 9, {{"loss", 2}}, "runs/a"},
                {"b", MemberState::kDone, 9, {{"loss", 1}}, "runs/b"}},
               "runs");
  std::string text = content_of(file.get());
  EXPECT_LT(text.find("  1  b "), text.find("  2  a ")) << text;
  EXPECT_TRUE(text.ends_with("\ndone   2 jobs  best b: loss 1  runs\n"))
      << text;
}

TEST(ArrayDisplay, ATerminalGetsTheBestOnly) {
  std::vector<JobResult> results;
  for (int i = 0; i < 50; ++i) {
    results.push_back(
        {.name = "m" + std::to_string(i), .metrics = {{"loss", 50.0 - i}}});
  }
  PseudoTerminal terminal(80);
  ArrayDisplay(ArrayDisplayOptions(), terminal.out()).done(results, "runs");
  const auto& lines = terminal.screen().lines;
  ASSERT_EQ(lines.size(), 1u + 40 + 2);
  EXPECT_THAT(lines[40], StartsWith("  40  m10 "));
  EXPECT_EQ(lines[41], "  ... 10 more");
  File file(std::tmpfile(), std::fclose);
  ArrayDisplay(ArrayDisplayOptions(), file.get()).done(results, "runs");
  EXPECT_EQ(count(content_of(file.get()), "\n"), 1u + 50 + 1);
}

TEST(ArrayDisplay, QuietWritesTheLastLineOnly) {
  File file(std::tmpfile(), std::fclose);
  ArrayDisplay display({.quiet = true, .shown = LogLevel::kError}, file.get());
  display.on_message(LogLevel::kInfo, "saved");
  display.on_array(ended(some_members()));
  display.done({{"a", MemberState::kDone, 9, {{"loss", 2}}, "runs/a"}}, "runs");
  EXPECT_EQ(content_of(file.get()), "done   1 job  best a: loss 2  runs\n");
}

}  // namespace
}  // namespace braid::cli
