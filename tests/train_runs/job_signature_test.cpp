// Which jobs can be members of one array.
#include "braid/train/job/job_signature.h"

#include "small_job.h"

namespace braid::train {
namespace {

class JobSignature : public SmallJobs {
 protected:
  JobConfig job(const std::vector<std::string>& overrides = {}) const {
    return config(
        "model: mlp(hidden=4,dropout=0.1)\nsteps: 6\n"
        "optimizer: {kind: sgd, lr: 0.1, momentum: 0.9}\n"
        "schedule: exponential(gamma=0.9)\nclip: 1\nema: 0.9\n"
        "groups: [{pattern: '*.bias', lr: 0.2}]\n",
        overrides);
  }

  std::string signature(const std::vector<std::string>& overrides = {}) const {
    return job_signature(Job(machine(), job(overrides)));
  }
};

// Numbers of a member, which opening a job again would not change.
const std::vector<std::string> kNumbers = {"seed=9",
                                           "data.order_seed=4",
                                           "optimizer.lr=0.5",
                                           "optimizer.momentum=0.5",
                                           "groups.0.lr=0.7",
                                           "optimizer.weight_decay=0.1",
                                           "schedule=cosine(steps=9,warmup=2)",
                                           "schedule=cosine(warmup=5%)",
                                           "schedule=constant",
                                           "schedule=plateau",
                                           "steps=60",
                                           "epochs=2",
                                           "clip.norm=3",
                                           "ema=0.5",
                                           "log_every=7",
                                           "log_norms=true",
                                           "log_system=true",
                                           "eval.every=2",
                                           "eval.early_stop.patience=2",
                                           "checkpoint.every=3"};

TEST_F(JobSignature, NumbersOfMembersAreNotInIt) {
  std::string base = signature();
  std::string of_config = config_signature(job());
  for (const std::string& number : kNumbers) {
    EXPECT_EQ(signature({number}), base) << number;
    EXPECT_EQ(config_signature(job({number})), of_config) << number;
  }
}

// What only opening the job tells.
TEST_F(JobSignature, OtherDataOfTheSameShapeAreNotInIt) {
  io::write_text(folder_.path() / "more.csv", points(46));
  std::string base = signature();
  const std::vector<std::string> others = {
      "data.file=" + (folder_.path() / "more.csv").string(),
      "data.shuffle=false", "model=mlp(hidden=4,dropout=0.4)",
      "init={'*.weight': normal(std=0.1)}"};
  for (const std::string& other : others) {
    EXPECT_EQ(signature({other}), base) << other;
    EXPECT_NE(config_signature(job({other})), config_signature(job())) << other;
  }
}

TEST_F(JobSignature, WhatMembersHaveInCommonIsInIt) {
  io::write_text(folder_.path() / "more.csv", points(23));
  std::string base = signature();
  const std::vector<std::string> others = {
      "model=mlp(hidden=5,dropout=0.1)",
      "model=mlp(hidden=4)",
      "optimizer.kind=adam",
      "optimizer.nesterov=true",
      "groups.0.pattern=*.weight",
      "groups=",
      "clip.norm=",
      "clip.value=1",
      "ema=",
      "on_nan=skip",
      "batch_size=4",
      "accumulate=2",
      "drop_last=true",
      "freeze=['*.bias']",
      "precision=bf16",
      "dtype=f64",
      "threads=2",
      "memory_limit=1GiB",
      "spill_dir=/tmp",
      "eval.metrics=[accuracy, top5]",
      "eval.metrics=[accuracy, f1_macro]",
      "eval.tables=[classes]",
      "eval.batch_size=5",
      "data.file=" + (folder_.path() / "more.csv").string()};
  for (const std::string& other : others) {
    std::vector<std::string> overrides{other};
    if (other.starts_with("optimizer.kind")) {
      overrides.push_back("optimizer.momentum=");
    }
    EXPECT_NE(signature(overrides), base) << other;
    EXPECT_NE(config_signature(job(overrides)), config_signature(job()))
        << other;
  }
}

// The same file from two folders is two files.
TEST_F(JobSignature, PathsCountByWhereTheyLead) {
  std::string text = "data: {source: csv, file: a.csv}\nmodel: mlp\nsteps: 1\n";
  EXPECT_NE(data_signature(parse_job(text, "/x/a.yaml")),
            data_signature(parse_job(text, "/y/a.yaml")));
}

TEST_F(JobSignature, MembersShareBatchesOfTheSameOrder) {
  std::string base = data_signature(job());
  EXPECT_EQ(data_signature(job({"optimizer.lr=1", "steps=3"})), base);
  EXPECT_NE(data_signature(job({"seed=4"})), base);
  EXPECT_EQ(data_signature(job({"seed=4", "data.order_seed=3"})), base);
  EXPECT_NE(data_signature(job({"data.file=eval.csv"})), base);
  EXPECT_EQ(data_signature(job({"data.shuffle=false", "seed=1"})),
            data_signature(job({"data.shuffle=false", "seed=2"})));
}

}  // namespace
}  // namespace braid::train
