#include "braid/cli/display/leaderboard.h"

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

// Of a job that goes by accuracy, whose best was at some step.
JobResult best_of(JobResult result, double value, int64_t step,
                  bool higher = true) {
  result.best = {"accuracy", higher, value, step};
  return result;
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

// What a job once reached counts, not what it ended with.
TEST(Leaderboard, RanksByTheBestAndShowsTheLast) {
  std::vector<JobResult> all = results();
  all[0] = best_of(all[0], 0.99, 300);
  all[1] = best_of(all[1], 1.0, 100);  // failed afterwards
  all[2] = best_of(all[2], 0.95, 800);
  all[3] = best_of(all[3], 0.97, 200);
  EXPECT_EQ(ranking_metric(all), "accuracy");
  EXPECT_EQ(order(all, "accuracy"), "adcbe");
  sort_results(all, "accuracy");
  Lines lines = leaderboard_lines(all, "accuracy", 120);
  EXPECT_EQ(
      lines[0],
      "     name  steps  best accuracy  at step  last accuracy  last loss  "
      "state          folder");
  EXPECT_EQ(
      lines[1],
      "  1  a       900           0.99      300            0.9        0.3  "
      "done           runs/a");
  EXPECT_EQ(summary_line(all, "accuracy", "runs"),
            "done   5 jobs, 1 failed  best a: accuracy 0.99 at step 300  runs");
}

// A metric that a job calls better when it is lower ranks that way.
TEST(Leaderboard, FollowsTheDirectionOfTheJobs) {
  std::vector<JobResult> all = {best_of(result("a", {}), 5, 1, false),
                                best_of(result("b", {}), 3, 1, false)};
  EXPECT_EQ(order(all, "accuracy"), "ba");
}

// Numbers of different metrics are not compared.
TEST(Leaderboard, JobsThatGoByAnotherMetricComeAfter) {
  std::vector<JobResult> all = {best_of(result("a", {}), 0.5, 3),
                                result("b", {{"loss", 0.1}}),
                                best_of(result("c", {}), 0.6, 3)};
  all[1].best = {"loss", false, 0.1, 5};
  EXPECT_EQ(order(all, "accuracy"), "cab");
  Lines lines = leaderboard_lines(all, "accuracy", 120);
  EXPECT_NE(lines[2].find("loss 0.1"), std::string::npos) << lines[2];
}

TEST(Leaderboard, ShowsRawWeightsBesideAveragedOnes) {
  std::vector<JobResult> all = {
      best_of(result("a", {{"accuracy", 0.9}}), 1, 2)};
  all[0].raw = {{"accuracy", 0.125}};
  Lines lines = leaderboard_lines(all, "accuracy", 120);
  EXPECT_NE(lines[0].find("raw accuracy"), std::string::npos) << lines[0];
  EXPECT_NE(lines[1].find("0.125"), std::string::npos) << lines[1];
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
