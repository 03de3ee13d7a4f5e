#include "braid/train/run/run.h"

#include <cmath>

#include "braid/train/run/run_files.h"
#include "data/files.h"
#include "small_job.h"

namespace braid::train {
namespace {

class RunTest : public SmallJobs {
 protected:
  // A job of two layers with dropout, BatchNorm being in none of them.
  JobConfig small(const std::string& more,
                  const std::vector<std::string>& overrides = {}) const {
    return config("model: mlp(hidden=16,layers=2,dropout=0.2)\n" + more,
                  overrides);
  }

  std::filesystem::path create(const std::string& name,
                               const JobConfig& made) const {
    std::filesystem::path out = folder_.path() / name;
    create_run(out, made);
    return out;
  }

  std::string metrics(const std::string& name) const {
    return io::read_text(folder_.path() / name / "metrics.jsonl");
  }

  std::string metrics_without_times(const std::string& name) const {
    std::string lines = metrics(name);
    for (size_t at; (at = lines.find("\"time_s\"")) != lines.npos;) {
      lines.erase(at, lines.find_first_of(",}", at) - at);
    }
    return lines;
  }
};

TEST_F(RunTest, LearnsAndTellsOfEveryStepAndEvaluation) {
  Job job(machine(), small("epochs: 20\noptimizer: {lr: 0.02}"));
  ReportLog seen;
  train::Run run(job, {.listener = &seen});
  EXPECT_EQ(run.run(), Ending::kDone);
  ASSERT_EQ(seen.steps.size(), 60u);
  for (size_t i = 0; i < seen.steps.size(); ++i) {
    const StepReport& report = seen.steps[i];
    EXPECT_EQ(report.step, static_cast<int64_t>(i) + 1);
    EXPECT_EQ(report.steps, 60);
    EXPECT_EQ(report.rows, i % 3 == 2 ? 6 : 8);
    ASSERT_EQ(report.networks.size(), 1u);
    EXPECT_EQ(report.networks[0].name, "");
    EXPECT_EQ(report.networks[0].lr, 0.02);
    EXPECT_EQ(report.memory_bytes, run.programs().peak_bytes());
  }
  EXPECT_DOUBLE_EQ(seen.steps[3].epoch, 4.0 / 3);
  EXPECT_EQ(seen.steps[3].epochs, 20);
  ASSERT_EQ(seen.evals.size(), 20u);  // at the end of each epoch
  EXPECT_EQ(seen.evals[0].first, 3);
  EXPECT_EQ(seen.evals.back().second, run.evaluation());
  std::map<std::string, double> last(run.evaluation().begin(),
                                     run.evaluation().end());
  EXPECT_GT(last.at("accuracy"), 0.9);
  EXPECT_LT(last.at("loss"), 0.5);
  EXPECT_EQ(run.steps_done(), 60);
}

TEST_F(RunTest, TheSameJobEndsInTheSameBits) {
  Job job(machine(), small("epochs: 2"));
  train::Run a(job, {}), b(job, {});
  a.run();
  b.run();
  EXPECT_TRUE(bits_of(a) == bits_of(b));
  Job other(machine(), small("epochs: 2", {"seed=4"}));
  train::Run c(other, {});
  c.run();
  EXPECT_FALSE(bits_of(a) == bits_of(c));
}

// Two runs of different jobs, step by step in turns on one device, are what
// each is alone.
TEST_F(RunTest, TakesTurnsWithOthersOnOneDevice) {
  Job one(machine(), small("epochs: 2"));
  Job two(machine(), config("model: mlp(hidden=5)\nsteps: 11\n"
                            "optimizer: {kind: sgd, lr: 0.1}"));
  train::Run a(one, {}), b(two, {});
  a.run();
  b.run();
  auto device = machine().open({DeviceKind::kCpu, 1}, {});
  train::Run c(one, {.device = device.get()}), d(two, {.device = device.get()});
  int64_t ticks = 0;
  for (bool goes_on = true; goes_on; ++ticks) {
    bool first = c.tick(), second = d.tick();
    goes_on = first || second;
  }
  EXPECT_EQ(ticks, 12);
  EXPECT_FALSE(c.tick());
  EXPECT_EQ(c.ending(), Ending::kDone);
  EXPECT_TRUE(bits_of(c) == bits_of(a));
  EXPECT_TRUE(bits_of(d) == bits_of(b));
  EXPECT_EQ(d.evaluation(), b.evaluation());
}

TEST_F(RunTest, StopsWhenAsked) {
  Job job(machine(), small("epochs: 20"));
  ReportLog seen;
  train::Run run(
      job, {.stop = [&] { return seen.steps.size() == 4; }, .listener = &seen});
  EXPECT_EQ(run.run(), Ending::kInterrupted);
  EXPECT_EQ(run.steps_done(), 4);
  EXPECT_EQ(seen.evals.size(), 1u);  // none on the way out
}

TEST_F(RunTest, InTwoHalvesItEndsAsInOne) {
  std::string text =
      "epochs: 4\nema: 0.9\nlog_every: 2\n"
      "schedule: cosine(steps=12,warmup=2)\naccumulate: 2";
  Job job(machine(), small(text));
  train::Run whole(job, {.out = create("whole", job.config())});
  whole.run();
  std::filesystem::path out = create("halves", job.config());
  int64_t steps = 0;
  {
    train::Run first(job, {.out = out, .stop = [&] { return ++steps > 5; }});
    EXPECT_EQ(first.run(), Ending::kInterrupted);
    EXPECT_EQ(first.steps_done(), 5);
  }
  ReportLog seen;
  train::Run second(job, {.out = out, .listener = &seen});
  EXPECT_EQ(second.steps_done(), 5);
  EXPECT_EQ(seen.count("going on after step 5"), 1);
  EXPECT_EQ(second.run(), Ending::kDone);
  EXPECT_EQ(seen.steps.front().step, 6);
  EXPECT_TRUE(bits_of(whole) == bits_of(second));
  EXPECT_EQ(whole.evaluation(), second.evaluation());
  EXPECT_EQ(metrics_without_times("whole"), metrics_without_times("halves"));
}

// When losses are looked at changes nothing but what a person sees in between.
TEST_F(RunTest, EndsTheSameHoweverFarLossesLagBehind) {
  std::string text = "epochs: 4\nlog_every: 5\naccumulate: 2\n";
  Job job(machine(), small(text));
  train::Run prompt(job, {.out = create("prompt", job.config()), .lag = 0});
  prompt.run();
  for (int64_t lag : {1, 3, 7}) {
    std::string name = fmt::format("lag-{}", lag);
    train::Run late(job, {.out = create(name, job.config()), .lag = lag});
    EXPECT_EQ(late.run(), Ending::kDone);
    EXPECT_TRUE(bits_of(prompt) == bits_of(late)) << lag;
    EXPECT_EQ(prompt.evaluation(), late.evaluation()) << lag;
    EXPECT_EQ(metrics_without_times("prompt"), metrics_without_times(name));
  }
}

TEST_F(RunTest, ALagThatIsNotPossibleIsRefused) {
  Job job(machine(), small("steps: 2"));
  for (int64_t lag : {-1, 8}) {
    EXPECT_THROW(train::Run(job, {.lag = lag}), std::invalid_argument) << lag;
  }
}

// The same without files: a run that ended has nothing to do.
TEST_F(RunTest, ARunThatIsDoneStaysAsItIs) {
  Job job(machine(), small("epochs: 1"));
  std::filesystem::path out = create("done", job.config());
  Bits before;
  {
    train::Run run(job, {.out = out});
    run.run();
    before = bits_of(run);
  }
  std::string lines = metrics("done");
  ReportLog seen;
  train::Run again(job, {.out = out, .listener = &seen});
  EXPECT_EQ(again.run(), Ending::kDone);
  EXPECT_TRUE(seen.steps.empty());
  EXPECT_TRUE(bits_of(again) == before);
  EXPECT_EQ(metrics("done"), lines);
}

TEST_F(RunTest, StopsEarlyWhenNothingGetsBetter) {
  Job job(machine(), small("epochs: 50\noptimizer: {kind: sgd, lr: 1e-12}",
                           {"eval.early_stop.patience=3",
                            "eval.early_stop.min_delta=0.01"}));
  ReportLog seen;
  train::Run run(job, {.listener = &seen});
  EXPECT_EQ(run.run(), Ending::kStoppedEarly);
  EXPECT_EQ(run.steps_done(), 12);  // the first is the best, then three
  EXPECT_EQ(seen.evals.size(), 4u);
  EXPECT_EQ(run.record().early_stop.worse, 3);
  EXPECT_EQ(seen.count("stopped early: accuracy was best at step 3"), 1);
}

// A run that stopped early and is taken up again has ended.
TEST_F(RunTest, EarlyStoppingIsRemembered) {
  Job job(machine(), small("epochs: 50\noptimizer: {kind: sgd, lr: 1e-12}",
                           {"eval.early_stop.patience=1",
                            "eval.early_stop.min_delta=0.01"}));
  std::filesystem::path out = create("early", job.config());
  { EXPECT_EQ(train::Run(job, {.out = out}).run(), Ending::kStoppedEarly); }
  train::Run again(job, {.out = out});
  EXPECT_EQ(again.run(), Ending::kStoppedEarly);
  EXPECT_EQ(again.steps_done(), 6);
}

TEST_F(RunTest, TheBestIsKept) {
  Job job(machine(), small("epochs: 6\noptimizer: {lr: 0.02}",
                           {"checkpoint.best=accuracy"}));
  ReportLog seen;
  train::Run run(job, {.out = create("best", job.config()), .listener = &seen});
  run.run();
  double most = -1;
  int64_t step = 0;
  for (const auto& [at, values] : seen.evals) {
    for (const auto& [name, value] : values) {
      if (name != "accuracy" || value <= most) continue;
      most = value;
      step = at;
    }
  }
  EXPECT_EQ(run.record().best.value, most);
  EXPECT_EQ(run.record().best.step, step);
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "best" / "checkpoints" /
                                      fmt::format("step-{}", step)));
}

// 24 points of which the 10th is no number.
class BrokenData : public RunTest {
 protected:
  BrokenData() {
    std::vector<float> x(48, 0.5);
    std::vector<int64_t> y(24, 1);
    x[18] = NAN;
    write("x.npy", "<f4", "(24, 2)", std::as_bytes(std::span(x)));
    write("y.npy", "<i8", "(24,)", std::as_bytes(std::span(y)));
  }

  JobConfig broken(const std::string& more) const {
    return small(more, {"data={source: npy, classes: 3, shuffle: false, "
                        "allow_nan: true, files: [x=" +
                        (folder_.path() / "x.npy").string() +
                        ", y=" + (folder_.path() / "y.npy").string() + "]}"});
  }

  void write(const char* name, const char* type, const char* shape,
             std::span<const std::byte> bytes) {
    io::write_text(folder_.path() / name,
                   data::npy_text(type, shape, io::text_of(bytes)));
  }
};

TEST_F(BrokenData, ALossThatIsNoNumberStopsTheRun) {
  JobConfig made = broken("epochs: 3");
  Job job(machine(), made);
  for (int64_t lag : {0, 1, 5}) {
    train::Run run(job, {.lag = lag});
    std::string text = io::error_of<std::runtime_error>([&] { run.run(); });
    io::expect_contains(text, "[train] the loss is nan at step 2; nothing was");
    io::expect_contains(text, "HINT: ");
    EXPECT_EQ(run.steps_done(), 1) << lag;
  }
}

TEST_F(BrokenData, TheNewestCheckpointIsFromBefore) {
  JobConfig made = broken("epochs: 3\ncheckpoint: {every: 1}");
  Job job(machine(), made);
  for (int64_t lag : {0, 5}) {
    std::filesystem::path out = create(fmt::format("broken-{}", lag), made);
    {
      train::Run run(job, {.out = out, .lag = lag});
      std::string text = io::error_of<std::runtime_error>([&] { run.run(); });
      io::expect_contains(text, "step 1 is saved");
    }
    EXPECT_EQ(io::num_entries(checkpoints_path(out)), 1u) << lag;
  }
}

TEST_F(BrokenData, OrTheStepIsSkippedAndSaid) {
  Job job(machine(), broken("epochs: 2\non_nan: skip\nlog_every: 3"));
  ReportLog seen;
  train::Run run(job, {.out = create("skip", job.config()), .listener = &seen});
  EXPECT_EQ(run.run(), Ending::kDone);
  EXPECT_EQ(seen.count("were skipped"), 2);  // a line of the log each
  EXPECT_EQ(seen.count("step 3: steps whose loss is not finite were skipped: "
                       "1 of the last 3"),
            1);
  EXPECT_EQ(seen.count("step 6: "), 1);
  EXPECT_EQ(seen.steps.size(), 6u);
  EXPECT_TRUE(std::isfinite(run.evaluation()[0].second));
  // Means are over the steps that were taken.
  EXPECT_EQ(metrics("skip").find("null"), std::string::npos);
  EXPECT_EQ(metrics("skip").find("NaN"), std::string::npos);
}

// One image of NaN among twelve: the step it is in counts for nothing, and
// nothing of it stays in BatchNorm's running statistics.
TEST_F(BrokenData, RunningStatisticsStayNumbers) {
  constexpr size_t kPixels = 3 * 8 * 8;
  std::vector<float> x(12 * kPixels, 0.5);
  std::fill(x.begin() + 5 * kPixels, x.begin() + 6 * kPixels, NAN);
  std::vector<int64_t> y(12, 1);
  write("x.npy", "<f4", "(12, 3, 8, 8)", std::as_bytes(std::span(x)));
  write("y.npy", "<i8", "(12,)", std::as_bytes(std::span(y)));
  for (const char* accumulate : {"1", "2"}) {
    JobConfig made = broken("epochs: 2\non_nan: skip");
    made.batch_size = 4;
    made.model = "resblock(classes=3)";
    made.accumulate = std::stoi(accumulate);
    made.eval.data = made.data;
    made.eval.limit = 4;
    Job job(machine(), made);
    train::Run run(job, {});
    EXPECT_EQ(run.run(), Ending::kDone);
    EXPECT_TRUE(std::isfinite(run.evaluation()[0].second)) << accumulate;
  }
}

TEST_F(RunTest, EvaluationWithAveragesLeavesTheWeights) {
  auto weights = [&](const std::string& every) {
    Job job(machine(), small("epochs: 2\nema: 0.5", {"eval.every=" + every}));
    train::Run run(job, {});
    run.run();
    return bits_of(run);
  };
  EXPECT_TRUE(weights("1") == weights("1000"));
}

TEST_F(RunTest, AveragesAreWhatIsEvaluated) {
  auto loss = [&](const std::string& decay) {
    Job job(machine(), small("epochs: 3\noptimizer: {lr: 0.05}\n" + decay));
    train::Run run(job, {});
    run.run();
    return run.evaluation();
  };
  EXPECT_EQ(loss(""), loss("ema: 0"));  // the average of the last alone
  EXPECT_NE(loss(""), loss("ema: 0.99"));
}

TEST_F(RunTest, AListenersErrorEndsTheRun) {
  struct Thrower : Listener {
    void on_step(const StepReport&) override {
      throw std::runtime_error("enough");
    }
  } thrower;
  Job job(machine(), small("epochs: 2"));
  train::Run run(job, {.listener = &thrower});
  EXPECT_EQ(io::error_of<std::runtime_error>([&] { run.run(); }), "enough");
}

TEST_F(RunTest, AnotherJobDoesNotGoOn) {
  Job job(machine(), small("epochs: 2"));
  std::filesystem::path out = create("mine", job.config());
  train::Run(job, {.out = out}).run();
  Job shorter(machine(), small("steps: 1"));
  EXPECT_THROW(train::Run(shorter, {.out = out}), std::invalid_argument);
  Job wider(machine(), config("model: mlp(hidden=9)\nepochs: 2"));
  EXPECT_THROW(train::Run(wider, {.out = out}), std::invalid_argument);
}

TEST_F(RunTest, ALimitOfMemoryChangesNoBit) {
  Job roomy(machine(), small("epochs: 2"));
  train::Run free(roomy, {});
  free.run();
  int64_t limit = free.programs().peak_bytes() * 8 / 10;
  Job tight(machine(),
            small("epochs: 2", {fmt::format("memory_limit={}", limit)}));
  train::Run limited(tight, {});
  limited.run();
  EXPECT_LE(limited.programs().peak_bytes(), limit);
  EXPECT_TRUE(bits_of(free) == bits_of(limited));
  EXPECT_EQ(free.evaluation(), limited.evaluation());
}

}  // namespace
}  // namespace braid::train
