#include "braid/cli/leaderboard.h"

#include <gtest/gtest.h>

#include <cmath>

namespace braid::cli {
namespace {

using Lines = std::vector<std::string>;
using train::MemberState;

JobResult result(const std::string& name, const io::Scalars& metrics,
                 MemberState state = MemberState::kDone) {
  return {name, state, 900, metrics, "runs/" + name};
}

std::vector<JobResult> results() {
  return {result("a", {{"loss", 0.3}, {"accuracy", 0.9}}),
          result("b", {}, MemberState::kFailed),
          result("c", {{"loss", 0.2}, {"accuracy", 0.95}},
                 MemberState::kStoppedEarly),
          result("d", {{"loss", 0.1}, {"accuracy", 0.9}}),
          result("e", {{"loss", NAN}, {"accuracy", NAN}})};
}

std::string order(std::vector<JobResult> all, const std::string& metric) {
  sort_results(all, metric);
  std::string names;
  for (const JobResult& r : all) names += r.name;
  return names;
}

// More is better for one, less for the other; equal ones keep their order.
TEST(Leaderboard, BestComesFirst) {
  EXPECT_EQ(order(results(), "accuracy"), "cdabe");
  EXPECT_EQ(order(results(), "loss"), "dcabe");
  EXPECT_EQ(order(results(), "unknown"), "dcabe");
}

// A number from before it failed does not count.
TEST(Leaderboard, FailedJobsComeLast) {
  std::vector<JobResult> all = results();
  all[1].metrics = {{"loss", 0}, {"accuracy", 1}};
  EXPECT_EQ(order(all, "accuracy"), "cdabe");
}

TEST(Leaderboard, TheMetricIsTheFirstThatIsNoLoss) {
  EXPECT_EQ(ranking_metric(results()), "accuracy");
  EXPECT_EQ(ranking_metric({result("a", {{"loss", 1}})}), "loss");
  EXPECT_EQ(ranking_metric({result("a", {})}), "");
}

TEST(Leaderboard, ShowsPlacesMetricsAndFolders) {
  std::vector<JobResult> all = results();
  sort_results(all, "accuracy");
  Lines lines = leaderboard_lines(all, "accuracy", 80);
  EXPECT_EQ(
      lines,
      (Lines{"     name  steps  accuracy    loss  state          folder",
             "  1  c       900      0.95     0.2  stopped early  runs/c",
             "  2  d       900       0.9     0.1  done           runs/d",
             "  3  a       900       0.9     0.3  done           runs/a",
             "  4  b       900         -       -  failed: NaN    runs/b",
             "  5  e       900       nan     nan  done           runs/e"}));
}

TEST(Leaderboard, NarrowTerminalsKeepNameAndMetric) {
  for (const std::string& line : leaderboard_lines(results(), "accuracy", 34)) {
    EXPECT_LE(line.size(), 34u);
    EXPECT_EQ(line.find("runs/"), line.npos);
  }
  EXPECT_NE(leaderboard_lines(results(), "accuracy", 34)[1].find("0.9"),
            std::string::npos);
}

TEST(Leaderboard, TheSummaryNamesTheBest) {
  EXPECT_EQ(summary_line(results(), "accuracy", "runs"),
            "done   5 jobs, 1 failed  best c: accuracy 0.95  runs");
  EXPECT_EQ(summary_line({result("a", {})}, "", "runs"), "done   1 job  runs");
}

}  // namespace
}  // namespace braid::cli
