#include "braid/train/job/job_metrics.h"

#include <gtest/gtest.h>

namespace braid::train {
namespace {

using Names = std::vector<std::string>;

const Names kUsual = {"loss", "accuracy"};

// What the user says comes first, then what is counted.
TEST(Watched, TheFirstThatIsNamedIsTheBest) {
  JobConfig job;
  EXPECT_EQ(best_by(job, kUsual), (Watched{"accuracy", true}));
  EXPECT_EQ(best_by(job, {"loss", "perplexity"}), (Watched{"perplexity"}));
  EXPECT_EQ(best_by(job, {"loss"}), (Watched{"loss"}));
  job.eval.metrics = {"loss", "accuracy"};
  EXPECT_EQ(best_by(job, job.eval.metrics), (Watched{"loss"}));
  job.eval.early_stop.metric = "top5";
  EXPECT_EQ(best_by(job, job.eval.metrics), (Watched{"top5", true}));
  job.checkpoint.best = "accuracy";
  EXPECT_EQ(best_by(job, job.eval.metrics), (Watched{"accuracy", true}));
  EXPECT_EQ(stops_by(job, job.eval.metrics), (Watched{"top5", true}));
}

TEST(Watched, EarlyStoppingWatchesTheBestUnlessItNamesAnother) {
  JobConfig job;
  job.checkpoint.best = "perplexity";
  EXPECT_EQ(stops_by(job, kUsual), best_by(job, kUsual));
  job.checkpoint.best = "";
  EXPECT_EQ(stops_by(job, kUsual), (Watched{"accuracy", true}));
}

// Which way a metric gets better is one thing, whoever watches it.
TEST(Watched, TheModeCountsForItsMetricEverywhere) {
  JobConfig job;
  job.eval.early_stop = {.metric = "f1", .mode = "max"};
  EXPECT_EQ(best_by(job, {"f1"}), (Watched{"f1", true}));
  EXPECT_EQ(stops_by(job, {"f1"}), (Watched{"f1", true}));
  job.checkpoint.best = "loss";  // another metric has its own
  EXPECT_EQ(best_by(job, {"f1"}), (Watched{"loss", false}));
  job.eval.early_stop = {.metric = "", .mode = "min"};
  job.checkpoint.best = "accuracy";
  EXPECT_EQ(best_by(job, kUsual), (Watched{"accuracy", false}));
}

}  // namespace
}  // namespace braid::train
