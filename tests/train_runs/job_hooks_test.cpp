// What a program gives to a job: a loss, and datasets.
#include "braid/train/job/job_hooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "braid/graph/text.h"
#include "braid/ops/build/functions.h"
#include "braid/train/run/run.h"
#include "source_dir.h"
#include "thrown.h"
#include "train_runs/small_job.h"

namespace braid::train {
namespace {

using testing::HasSubstr;

JobConfig small_job() {
  JobConfig job;
  job.model = "mlp(hidden=8,layers=1)";
  job.data.source = kCustom;
  job.batch_size = 4;
  job.steps = 2;
  return job;
}

// Rows of 16 equal floats; classes 0 and 1 in turn.
class Ramp : public data::Dataset {
 public:
  explicit Ramp(int64_t size)
      : Dataset("ramp",
                {{"x", DType::kFloat32, {16}}, {"y", DType::kInt64, {}, 2}},
                size) {}
  void read(int64_t index, const data::Draw&,
            std::span<std::byte* const> out) const override {
    std::vector<float> x(16, static_cast<float>(index));
    int64_t y = index % 2;
    std::memcpy(out[0], x.data(), x.size() * sizeof(float));
    std::memcpy(out[1], &y, sizeof y);
  }
};

JobHooks ramp_hooks(LossFunction loss = {}) {
  return {.loss = std::move(loss),
          .train = std::make_shared<Ramp>(12),
          .eval = std::make_shared<Ramp>(6)};
}

std::string forward_text(JobConfig config, LossFunction loss) {
  Job job(machine(), std::move(config), ramp_hooks(std::move(loss)));
  return print_graph(job.model().forward(0, 4));
}

TEST(JobHooks, ALossIsPartOfTheGraph) {
  JobConfig named = small_job();
  named.loss = "cross_entropy(label_smoothing=0.1)";
  auto custom = [](Var y, Var target) {
    return cross_entropy_loss(y, target, {.label_smoothing = 0.1});
  };
  std::string text = forward_text(small_job(), custom);
  EXPECT_EQ(text, forward_text(named, {}));
  EXPECT_NE(text, forward_text(small_job(), {}));
}

TEST(JobHooks, EvaluationUsesTheSameLoss) {
  auto loss = [](Var y, Var target) {
    return mul_scalar(cross_entropy_loss(y, target), 3.0);
  };
  Job job(machine(), small_job(), ramp_hooks(loss));
  Graph eval = job.model().eval(6);
  ValueId id = eval.find_output("loss");
  EXPECT_THAT(print_graph(eval), HasSubstr("mul_scalar"));
  EXPECT_TRUE(eval.value(id).type.shape.empty());
  EXPECT_THAT(job.model().metrics(), testing::Contains("accuracy"));
}

TEST(JobHooks, ALossIsOneFloat) {
  EXPECT_THAT(
      thrown_by(
          [] { forward_text(small_job(), [](Var y, Var) { return y; }); }),
      HasSubstr("[loss] expected one float, got f32[4, 2]\nHINT: take the"));
  EXPECT_THAT(thrown_by([] {
                forward_text(small_job(), [](Var, Var) { return Var{}; });
              }),
              HasSubstr("[loss] the function gave no value"));
}

TEST(JobHooks, DatasetsOfTheProgramAreTheJobs) {
  Job job(machine(), small_job(), ramp_hooks());
  EXPECT_EQ(job.data().train->size(), 12);
  EXPECT_EQ(job.data().eval->size(), 6);
  EXPECT_EQ(job.steps_per_epoch(), 3);
  EXPECT_EQ(job.config().data.source, "custom");
  EXPECT_EQ(job.config().eval.data->source, "custom");
}

TEST(JobHooks, ARunMinimisesTheLoss) {
  JobConfig config = small_job();
  config.steps = 300;
  config.optimizer.values = {{"lr", "1e-2"}};
  // What is learnt must be this loss: the first score of every row is 5.
  auto loss = [](Var y, Var) {
    return mean(square(sub_scalar(select(y, 1, 0), 5.0)), {});
  };
  Job job(machine(), config, ramp_hooks(loss));
  train::Run run(job, {});
  run.run();
  ASSERT_EQ(run.evaluation().at(0).first, "loss");
  EXPECT_LT(run.evaluation().at(0).second, 1);
}

// Pairs of four numbers; the second half is twice the first.
class Doubles : public data::Dataset {
 public:
  Doubles()
      : Dataset("doubles",
                {{"x", DType::kFloat32, {4}}, {"y", DType::kFloat32, {4}}}, 8) {
  }
  void read(int64_t index, const data::Draw&,
            std::span<std::byte* const> out) const override {
    for (size_t i = 0; i < 4; ++i) {
      float x = static_cast<float>(index % 3) - static_cast<float>(i) / 4;
      float y = 2 * x;
      std::memcpy(out[0] + i * sizeof x, &x, sizeof x);
      std::memcpy(out[1] + i * sizeof y, &y, sizeof y);
    }
  }
};

// The file has no input "y": the field becomes one.
TEST(JobHooks, AnExportedModelLearnsFromAnyOfItsOutputs) {
  JobConfig config = small_job();
  config.model = std::string(kSourceDir) + "/tests/io/fixtures/dynamic_213.pt2";
  config.output = "1";
  config.steps = 400;
  config.optimizer.values = {{"lr", "1e-2"}};
  auto doubles = std::make_shared<Doubles>();
  auto loss = [](Var y, Var target) { return mse_loss(y, target); };
  Job job(machine(), config, {.loss = loss, .train = doubles, .eval = doubles});
  train::Run run(job, {});
  run.run();
  EXPECT_LT(run.evaluation().at(0).second, 0.1);
  EXPECT_GT(run.evaluation().at(0).second, 0);
}

TEST(JobHooks, WithoutEvalDataNothingIsEvaluated) {
  Job job(machine(), small_job(), {.train = std::make_shared<Ramp>(12)});
  EXPECT_FALSE(job.has_eval());
}

TEST(JobHooks, WhatIsSaidTwiceIsAnError) {
  auto loss = [](Var y, Var target) { return cross_entropy(y, target); };
  JobConfig named = small_job();
  named.loss = "mse";
  EXPECT_THAT(thrown_by([&] { with_hooks(named, ramp_hooks(loss)); }),
              HasSubstr("[job] loss is 'mse', and the program gives its own"));
  JobConfig glyphs = small_job();
  glyphs.data.source = "glyphs";
  EXPECT_THAT(thrown_by([&] { with_hooks(glyphs, ramp_hooks()); }),
              HasSubstr("[job] data is 'glyphs', and the program"));
}

TEST(JobHooks, ARunIsNotContinuedWithoutThem) {
  auto loss = [](Var y, Var target) { return cross_entropy(y, target); };
  JobConfig saved = Job(machine(), small_job(), ramp_hooks(loss)).config();
  EXPECT_EQ(saved.loss, "custom");
  EXPECT_EQ(with_hooks(saved, ramp_hooks(loss)), saved);
  EXPECT_THAT(thrown_by([&] { with_hooks(saved, ramp_hooks()); }),
              HasSubstr("[job] loss is of the program that the job was made"));
  saved.loss = "";
  EXPECT_THAT(thrown_by([&] { with_hooks(saved, {}); }),
              HasSubstr("[job] data is of the program"));
}

TEST(JobHooks, PhasesHaveTheirOwnLosses) {
  JobConfig job = small_job();
  job.phases.push_back({});
  auto loss = [](Var y, Var target) { return cross_entropy(y, target); };
  EXPECT_THAT(thrown_by([&] { with_hooks(job, ramp_hooks(loss)); }),
              HasSubstr("does not go with phases"));
}

}  // namespace
}  // namespace braid::train
