#include "braid/train/job/job.h"

#include "braid/train/array/array_specs.h"
#include "train_runs/small_job.h"

namespace braid::train {
namespace {

using Steps = std::map<std::pair<size_t, int64_t>, size_t>;

// Of the job alone.
ArraySpecs specs_of(const Job& job) { return array_specs({&job}, {}); }

class JobTest : public SmallJobs {
 protected:
  std::unique_ptr<Job> job(const std::string& more,
                           const std::vector<std::string>& overrides = {}) {
    return std::make_unique<Job>(machine(), config(kModel + more, overrides));
  }

  std::string usage_error(const std::string& more,
                          const std::vector<std::string>& overrides = {}) {
    return io::error_of<std::invalid_argument>([&] { job(more, overrides); });
  }

  const std::string kModel = "model: mlp(hidden=4)\n";
};

// 22 samples in batches of 8.
TEST_F(JobTest, EpochsHaveAShorterLastBatch) {
  auto made = job("epochs: 2");
  EXPECT_EQ(made->steps_per_epoch(), 3);
  EXPECT_EQ(made->num_steps(), 6);
  EXPECT_EQ(made->batch_rows(), 8);
  EXPECT_EQ(made->rest_rows(), 6);
  EXPECT_EQ(made->eval_rows(), 8);
  EXPECT_EQ(made->eval_rest_rows(), 2);
  ArraySpecs specs = specs_of(*made);
  EXPECT_EQ(specs.all.size(), 4u);
  EXPECT_EQ(specs.steps, (Steps{{{0, 8}, 0}, {{0, 6}, 1}}));
  EXPECT_EQ(specs.evals, (std::map<int64_t, size_t>{{8, 2}, {2, 3}}));
}

TEST_F(JobTest, AShorterBatchMayBeDropped) {
  auto made = job("epochs: 2\ndrop_last: true");
  EXPECT_EQ(made->steps_per_epoch(), 2);
  EXPECT_EQ(made->num_steps(), 4);
  EXPECT_EQ(made->rest_rows(), 0);
  ArraySpecs specs = specs_of(*made);
  EXPECT_EQ(specs.steps, (Steps{{{0, 8}, 0}}));
  EXPECT_EQ(specs.evals.at(8), 1u);
}

TEST_F(JobTest, StepsWinOverEpochs) {
  EXPECT_EQ(job("steps: 5\nepochs: 100")->num_steps(), 5);
}

TEST_F(JobTest, AShorterBatchThatNeverComesHasNoProgram) {
  EXPECT_EQ(job("steps: 2")->rest_rows(), 0);
  EXPECT_EQ(job("steps: 3")->rest_rows(), 6);
}

TEST_F(JobTest, EvaluationHasBatchesOfItsOwn) {
  auto made = job("steps: 2", {"eval.batch_size=5"});
  EXPECT_EQ(made->eval_rows(), 5);
  EXPECT_EQ(made->eval_rest_rows(), 0);
  made = job("steps: 2", {"eval.batch_size=100"});
  EXPECT_EQ(made->eval_rows(), 10);
  EXPECT_EQ(made->eval_rest_rows(), 0);
  made = job("steps: 2", {"eval.limit=3"});
  EXPECT_EQ(made->eval_rows(), 3);
}

TEST_F(JobTest, WithoutEvalDataNothingIsEvaluated) {
  auto made = job("steps: 2", {"eval="});
  EXPECT_FALSE(made->has_eval());
  EXPECT_EQ(made->eval_rows(), 0);
  EXPECT_EQ(specs_of(*made).all.size(), 1u);
}

TEST_F(JobTest, ABatchLargerThanTheData) {
  auto made = job("epochs: 2", {"batch_size=64"});
  EXPECT_EQ(made->steps_per_epoch(), 1);
  EXPECT_EQ(made->rest_rows(), 22);
  io::expect_contains(
      usage_error("epochs: 2\ndrop_last: true", {"batch_size=64"}),
      "[job] a batch of 64 is larger than the data (22 samples of ");
}

// Parts of a shorter batch are as large as those of a full one, roughly.
TEST_F(JobTest, MicroBatchesDivideEveryBatch) {
  auto made = job("epochs: 1\naccumulate: 2");
  EXPECT_EQ(made->micro_batches(8), 2);
  EXPECT_EQ(made->micro_batches(6), 2);
  EXPECT_EQ(made->micro_batches(4), 1);
  EXPECT_EQ(made->micro_batches(7), 1);  // not seven parts of one row
  EXPECT_EQ(made->micro_batches(1), 1);
  for (int64_t rows = 1; rows <= 8; ++rows) {
    EXPECT_EQ(rows % made->micro_batches(rows), 0);
    EXPECT_GE(rows / made->micro_batches(rows), std::min<int64_t>(rows, 2));
  }
  auto sources = specs_of(*made).all;
  EXPECT_EQ(sources[0].micro_batches, 2);
  EXPECT_EQ(sources[1].micro_batches, 2);
  const Graph& rest = sources[1].forward;
  EXPECT_EQ(rest.value(rest.find_input("x")).type.shape, (Shape{3, 2}));
}

TEST_F(JobTest, SizesOfTheModelAreThoseOfTheData) {
  auto made = job("steps: 1");
  Graph graph = made->model().forward(0, 8);
  EXPECT_EQ(graph.value(graph.find_input("x")).type.shape, (Shape{8, 2}));
  EXPECT_EQ(made->model().metrics(),
            (std::vector<std::string>{"loss", "accuracy"}));
}

TEST_F(JobTest, WrongJobsAreNamed) {
  io::expect_contains(usage_error("steps: 1", {"eval.metrics=[acuracy]"}),
                      "acuracy");
  io::expect_contains(usage_error("steps: 1\nloss: mce"),
                      "did you mean 'mse'?");
  io::expect_contains(usage_error("steps: 1", {"inputs={x: image}"}), "'x'");
  io::expect_contains(usage_error("steps: 1", {"model=mlp(classes=2)"}),
                      "takes 2 classes, the field 'y' has 3");
}

// What a count of steps cannot hold is no count.
TEST_F(JobTest, EndlessEpochsAreAnError) {
  io::expect_contains(usage_error("epochs: 4611686018427387904"), "epochs");
}

TEST_F(JobTest, OtherLossesTakeTheModelsOutput) {
  auto made = job("steps: 1\nloss: cross_entropy(label_smoothing=0.1)");
  Graph graph = made->model().forward(0, 8);
  EXPECT_EQ(graph.outputs().size(), 1u);
  EXPECT_EQ(graph.value(graph.find_output("loss")).type.shape, Shape{});
}

const char* const kGame =
    "networks:\n"
    "  f: {model: 'mlp(features=2,classes=2,hidden=3)'}\n"
    "  g: {model: 'mlp(features=2,classes=2,hidden=3)'}\n"
    "phases:\n"
    "  - {learns: f, loss: 'mse(f(x), 1) + mse(f(detach(g(z))), 0)'}\n"
    "  - {learns: g, loss: 'mse(f(g(z)), 1)', every: 2}\n"
    "noise: {z: {shape: [2]}}\n"
    "epochs: 1\n";

TEST_F(JobTest, PhasesHaveProgramsForEveryBatch) {
  Job made(machine(), config(kGame, {"eval="}));
  EXPECT_EQ(specs_of(made).steps,
            (Steps{{{0, 8}, 0}, {{1, 8}, 1}, {{0, 6}, 2}, {{1, 6}, 3}}));
  EXPECT_FALSE(made.has_eval());
  auto sources = specs_of(made).all;
  ASSERT_EQ(sources.size(), 4u);
  for (const Slot& slot : sources[0].forward.slots()) {
    if (slot.role != Role::kParameter) continue;
    EXPECT_EQ(slot.trainable, slot.name.starts_with("f.")) << slot.name;
  }
  EXPECT_EQ(made.model().phases()[1].every, 2);
  EXPECT_EQ(made.model().noise_names(), std::vector<std::string>{"z"});
}

}  // namespace
}  // namespace braid::train
