// Grids: every value with every other, or side by side, on top of members.
#include "braid/train/job/job_grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job_lines.h"

namespace braid::train {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(JobGrid, IsEveryValueWithEveryOther) {
  JobList list =
      read("grid:\n  optimizer.lr: [1e-3, 3e-3]\n  seed: [1, 2, 3]\n");
  EXPECT_FALSE(list.is_single);
  EXPECT_THAT(names_of(list), ElementsAre("lr=1e-3,seed=1", "lr=1e-3,seed=2",
                                          "lr=1e-3,seed=3", "lr=3e-3,seed=1",
                                          "lr=3e-3,seed=2", "lr=3e-3,seed=3"));
  for (const NamedJob& job : list.jobs) {
    std::string lr = job.config.optimizer.values.at(0).text;
    EXPECT_EQ(job.name,
              "lr=" + lr + ",seed=" + std::to_string(job.config.seed));
  }
}

TEST(JobGrid, OfMembersTakesEachOfThem) {
  JobList list = read(
      "grid: {seed: [1, 2]}\n"
      "members:\n  - {name: slow, optimizer.lr: 1e-4}\n  - {epochs: 2}\n");
  ASSERT_EQ(list.jobs.size(), 4u);
  EXPECT_EQ(list.jobs[0].name, "slow-seed=1");
  EXPECT_EQ(list.jobs[1].name, "slow-seed=2");
  EXPECT_EQ(list.jobs[1].config.seed, 2);
  EXPECT_EQ(list.jobs[1].config.optimizer.values.at(0).text, "1e-4");
  EXPECT_EQ(list.jobs[2].config.epochs, 2);
  EXPECT_EQ(list.jobs[2].config.seed, 1);
}

TEST(JobGrid, ZipGoesSideBySide) {
  JobList list = read(
      "zip: {batch_size: [32, 64], accumulate: [1, 2]}\n"
      "grid: {optimizer: {lr: [0.1, 0.2]}}\n");
  ASSERT_EQ(list.jobs.size(), 4u);
  for (const NamedJob& job : list.jobs) {
    EXPECT_EQ(job.config.batch_size, 32 * job.config.accumulate);
  }
}

TEST(JobGrid, HoldsListsAndMaps) {
  JobList list = read(
      "grid:\n  optimizer.betas: [[0.9, 0.99], [0.8, 0.9]]\n"
      "  schedule: [constant, {kind: cosine, steps: 5}]\n");
  ASSERT_EQ(list.jobs.size(), 4u);
  EXPECT_EQ(list.jobs[3].config.optimizer.values.at(0).text, "[0.8,0.9]");
  EXPECT_EQ(list.jobs[3].config.schedule, "cosine(steps=5)");
}

TEST(JobGrid, ComesFromTheCommandLineToo) {
  JobList list = read("", {"grid.optimizer.lr=[0.1, 0.2]", "grid.seed=[4,5]"});
  EXPECT_EQ(list.jobs.size(), 4u);
  EXPECT_EQ(list.jobs[3].config.seed, 5);
  list = read("grid: {seed: [1, 2]}\n", {"grid={seed: [7]}"});
  ASSERT_EQ(list.jobs.size(), 1u);
  EXPECT_EQ(list.jobs[0].config.seed, 7);
}

TEST(JobGrid, ProblemsNameTheirLines) {
  EXPECT_THAT(problems("grid: {seed: 3}\n"),
              HasSubstr("line 4: grid.seed is a list of values, got '3'"));
  EXPECT_THAT(problems("grid: {seed: []}\n"), HasSubstr("got none"));
  EXPECT_THAT(problems("grid: [1, 2]\n"),
              HasSubstr("grid is a map of keys with lists"));
  EXPECT_THAT(problems("zip: {seed: [1, 2], epochs: [1]}\n"),
              HasSubstr("zip.epochs has 1 values, zip.seed has 2"));
  EXPECT_THAT(problems("grid: {seed: [1]}\nzip: {seed: [1]}\n"),
              HasSubstr("seed is in grid and zip"));
  EXPECT_THAT(problems("grid: {seed: [1, 2]}\nmembers: [{seed: 1}]\n"),
              HasSubstr("line 5: a member sets seed, which the grid sets too"));
  EXPECT_THAT(problems("grid: {sede: [1, 2]}\n"), HasSubstr("'seed'"));
  EXPECT_THAT(problems("grid: {seed: [1, x]}\n"), HasSubstr("'x'"));
}

TEST(JobGrid, TooManyJobsAreRefusedBeforeTheyAreMade) {
  std::string lines = "grid:\n";
  for (const char* key : {"seed", "epochs", "batch_size", "log_every"}) {
    lines += fmt::format("  {}: [", key);
    for (int i = 1; i < 999; ++i) lines += fmt::format("{},", i);
    lines += "999]\n";
  }
  EXPECT_THAT(problems(lines), HasSubstr("at most 4096"));
}

}  // namespace
}  // namespace braid::train
