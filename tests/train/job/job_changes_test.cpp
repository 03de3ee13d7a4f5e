#include "braid/train/job/job_changes.h"

#include <gtest/gtest.h>

#include "braid/train/job/job_file.h"

namespace braid::train {
namespace {

JobConfig job(const std::string& more) {
  return parse_job(
      "model: mlp\ndata: {source: csv, file: /a.csv}\nsteps: 9\n" + more,
      "/job.yaml");
}

std::vector<std::string> texts(const JobConfig& before, const JobConfig& now) {
  std::vector<std::string> list;
  for (const KeyChange& change : job_changes(before, now)) {
    list.push_back(change_text(change));
  }
  return list;
}

using Texts = std::vector<std::string>;

TEST(JobChanges, NamesEveryKeyWithBothValues) {
  EXPECT_EQ(texts(job("seed: 1"), job("seed: 1")), Texts{});
  EXPECT_EQ(texts(job("optimizer: {lr: 1e-3}"),
                  job("optimizer: {lr: 0.002}\nseed: 4")),
            (Texts{"optimizer.lr is 0.002, was 1e-3", "seed is 4, was 0"}));
  EXPECT_EQ(
      texts(job(""), job("clip: 1.5\nfreeze: [a, b]")),
      (Texts{"clip.norm is 1.5, was absent", "freeze is [a,b], was absent"}));
  EXPECT_EQ(texts(job("groups: [{pattern: a, lr: 1}]"),
                  job("groups: [{pattern: a, lr: 2}]")),
            Texts{"groups.0.lr is 2, was 1"});
}

TEST(JobChanges, NumbersCountHoweverTheyAreWritten) {
  EXPECT_EQ(texts(job("optimizer: {lr: 1e-3}"), job("optimizer: {lr: .001}")),
            Texts{});
}

// Beyond what messages show of a text.
TEST(JobChanges, LongTextsAreComparedToTheirEnd) {
  std::string name(200, 'x');
  EXPECT_EQ(texts(job("output: " + name + "a\nloss: mse"),
                  job("output: " + name + "b\nloss: mse"))
                .size(),
            1u);
}

TEST(JobChanges, OnlySomeKeysMayChange) {
  JobConfig plain = job("");
  auto may = [&](const std::string& key) {
    return may_change({key, "1", "2"}, plain);
  };
  for (const char* key :
       {"steps", "log_every", "log_norms.on", "log_norms.of", "log_system",
        "threads", "spill_dir", "checkpoint.keep", "eval.early_stop.patience",
        "data.file"}) {
    EXPECT_TRUE(may(key)) << key;
  }
  for (const char* key : {"seed", "optimizer.lr", "model", "data.source",
                          "data.classes", "batch_size", "checkpoint.best"}) {
    EXPECT_FALSE(may(key)) << key;
  }
  EXPECT_TRUE(may_change_alone({"steps", "1", "2"}));
  EXPECT_TRUE(may_change_alone({"spill_dir", "/a", "/b"}));
  EXPECT_FALSE(may_change_alone({"threads", "1", "2"}));
}

// What a checkpoint keeps says the same as the whole.
TEST(JobChanges, ARecordReadsBack) {
  JobConfig whole = job("seed: 3\nema: 0.5\neval: {every: 2}");
  JobConfig again = recorded_job(job_text(whole, false));
  EXPECT_EQ(texts(whole, again), Texts{});
}

}  // namespace
}  // namespace braid::train
