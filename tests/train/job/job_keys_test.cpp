#include "braid/train/job/job_keys.h"

#include <gtest/gtest.h>

namespace braid::train {
namespace {

TEST(JobKeys, OtherNamesLeadToTheKey) {
  EXPECT_EQ(find_job_key("lr"), "optimizer.lr");
  EXPECT_EQ(find_job_key("learning-rate"), "optimizer.lr");
  EXPECT_EQ(find_job_key("optimizer.lr"), "optimizer.lr");
  EXPECT_EQ(find_job_key("batch-size"), "batch_size");
  EXPECT_EQ(find_job_key("patience"), "eval.early_stop.patience");
  EXPECT_EQ(find_job_key("nesterov"), "optimizer.nesterov");
  EXPECT_EQ(find_job_key("eval_every"), "eval.every");
  EXPECT_EQ(find_job_key("seed"), "seed");
}

TEST(JobKeys, WhatMayBeSeveralIsNone) {
  EXPECT_EQ(find_job_key("every"), "");  // of evaluations, or checkpoints
  EXPECT_EQ(find_job_key("zebra"), "");
  EXPECT_EQ(find_job_key(""), "");
  EXPECT_EQ(find_job_key("x"), "");
}

TEST(JobKeys, WordsSetThem) {
  EXPECT_EQ(job_word("lr", "1e-3"), "optimizer.lr=1e-3");
  EXPECT_EQ(job_word("cuda", ""), "device=cuda");
  EXPECT_EQ(job_word("epochs", ""), "epochs=VALUE");
  EXPECT_EQ(job_word("zebra", "1"), "");
}

}  // namespace
}  // namespace braid::train
