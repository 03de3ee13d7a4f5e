#include "braid/cli/display/member_table.h"

#include <gtest/gtest.h>

#include "braid/cli/display/terminal.h"
#include "cli/member_reports.h"

namespace braid::cli {
namespace {

using Lines = std::vector<std::string>;

constexpr ArrayRates kRates{100, 1600};

// Members that ended early have no steps left: 300 + 1000 + 1000 of 4000.
TEST(MemberTable, HasARowForEachMember) {
  EXPECT_EQ(
      draw_members(some_members(), kRates, {.width = 100, .utf8 = false}),
      (Lines{
          " 57 %  #######################-----------------  step  2300/4000  "
          "eta 17s",
          "100 model-steps/s  1600 samples/s  3.00 MiB  1 training, 1 waiting, "
          "1 stopped early, 1 failed",
          "  name                 step  epoch       loss      lr  accuracy  "
          "state",
          "  lr=0.001,seed=1  300/1000  1.2/4        0.5  1.0e-3      0.75  "
          "training",
          "  lr=0.003         500/1000  2.0/4       0.25  3.0e-3     0.875  "
          "stopped early",
          "  wild               7/1000  0.1/4        nan  1.0e+0         -  "
          "failed: NaN",
          "  next               0/1000  0.0/4          -       -         -  "
          "waiting"}));
}

TEST(MemberTable, SaysLessWhereThereIsLittleRoom) {
  EXPECT_EQ(draw_members(some_members(), kRates, {.width = 79})[1],
            "100 model-steps/s  1600 samples/s  3.00 MiB  2 of 4 ended");
}

TEST(MemberTable, CountsTheRowsThatDoNotFit) {
  train::ArrayReport report = many_members(20);
  report.members[19].state = train::MemberState::kDone;
  Lines lines = draw_members(report, kRates, {.width = 80, .most_rows = 8});
  ASSERT_EQ(lines.size(), 2u + 1 + 8 + 1);
  EXPECT_TRUE(lines[3].starts_with("  m0 ")) << lines[3];
  EXPECT_TRUE(lines[10].starts_with("  m7 ")) << lines[10];
  EXPECT_EQ(lines.back(), "  ... 12 more: 11 training, 1 done");
}

// The order is that of the list, whatever happens to members.
TEST(MemberTable, RowsDoNotMove) {
  train::ArrayReport report = many_members(3);
  Lines before = draw_members(report, kRates);
  report.members[1].state = train::MemberState::kDone;
  report.members[2].loss = 0.001;
  report.members[0].evaluation = {{"accuracy", 0.5}};
  Lines after = draw_members(report, kRates);
  ASSERT_EQ(before.size(), after.size());
  for (size_t i = 3; i < before.size(); ++i) {
    EXPECT_EQ(before[i].substr(0, 5), after[i].substr(0, 5));
  }
}

TEST(MemberTable, NamesTheMetricWhereAllHaveTheSame) {
  train::ArrayReport report = many_members(3);
  auto titles = [&] { return draw_members(report, kRates)[2]; };
  EXPECT_NE(titles().find("  eval  "), std::string::npos);
  report.members[0].evaluation = {{"loss", 1}};
  EXPECT_NE(titles().find("  eval loss  "), std::string::npos);
  report.members[0].evaluation = {{"loss", 1}, {"top5", 1}};
  EXPECT_NE(titles().find("  top5  "), std::string::npos);
  report.members[1].evaluation = {{"accuracy", 1}};
  EXPECT_NE(titles().find("  eval  "), std::string::npos);
}

TEST(MemberTable, IsNeverWiderThanTheTerminal) {
  train::ArrayReport report = some_members();
  report.members[0].name = std::string(64, 'n');
  report.members[1].name = "模型\x1b[2J";
  for (int width = 0; width < 140; ++width) {
    for (const std::string& line :
         draw_members(report, kRates, {.width = width})) {
      EXPECT_LE(text_width(line), width);
      EXPECT_EQ(line.find('\x1b'), line.npos);
    }
  }
}

TEST(PlainMembers, SayAllInOneLine) {
  EXPECT_EQ(plain_members_text(some_members(), kRates),
            "models  1 training, 1 waiting, 1 stopped early, 1 failed  "
            "step  2300/4000  loss 0.25..0.5 (1 not finite)  "
            "best lr=0.003: accuracy 0.875  100 model-steps/s  1600 samples/s  "
            "3.00 MiB  eta 17s");
}

TEST(PlainMembers, UnknownRatesAreDashes) {
  train::ArrayReport report = many_members(2);
  report.limit_bytes = 1 << 30;
  EXPECT_EQ(plain_members_text(report, {NAN, NAN}),
            "models  2 training  step    1/200  loss 1..1  - model-steps/s  "
            "- samples/s  eta -");
}

TEST(PlainMembers, NothingLeftTakesNoTime) {
  train::ArrayReport report = many_members(1);
  report.members[0].state = train::MemberState::kDone;
  EXPECT_NE(plain_members_text(report, {0, 0}).find("eta 0s"),
            std::string::npos);
}

}  // namespace
}  // namespace braid::cli
