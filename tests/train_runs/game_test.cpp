// Runs of several networks that learn in phases.
#include <cmath>

#include "braid/train/run/run.h"
#include "small_job.h"

namespace braid::train {
namespace {

class GameTest : public SmallJobs {
 protected:
  JobConfig game(const std::vector<std::string>& overrides = {}) const {
    std::string text = io::read_text(folder_.path() / "game.yaml");
    return parse_job(text, folder_.path() / "job.yaml", overrides);
  }

  GameTest() {
    io::write_text(folder_.path() / "game.yaml", R"(
data: {source: csv, file: train.csv}
networks:
  f:
    model: mlp(features=2,classes=2,hidden=5)
    schedule: linear(steps=6)
    optimizer: {kind: sgd, lr: 0.1}
  g:
    model: mlp(features=2,classes=2,hidden=3,dropout=0.1)
    optimizer: {kind: adam, lr: 0.01}
phases:
  - {learns: f, loss: 'mse(f(x), 1) + mse(f(detach(g(z))), 0)'}
  - {learns: g, loss: 'mse(f(g(z)), 1)', every: 2}
noise: {z: {shape: [2]}}
epochs: 2
batch_size: 8
threads: 1
)");
  }
};

bool belongs_to(const std::string& slot, const std::string& network) {
  return slot.starts_with(network + ".");
}

// Names of the parameters' slots that differ.
std::vector<std::string> changed(const Bits& a, const Bits& b) {
  std::vector<std::string> names;
  for (const auto& [name, bits] : a) {
    bool is_model = belongs_to(name, "f") || belongs_to(name, "g");
    if (is_model && b.at(name) != bits) names.push_back(name);
  }
  return names;
}

// Keeps the state after every step.
struct Watcher : ReportLog {
  void on_step(const StepReport& report) override {
    ReportLog::on_step(report);
    states.push_back(bits_of(*run));
  }
  train::Run* run = nullptr;
  std::vector<Bits> states;
};

TEST_F(GameTest, EachPhaseTeachesItsNetworkWhenItIsDue) {
  Job job(machine(), game());
  Watcher seen;
  train::Run run(job, {.out = {}, .listener = &seen});
  seen.run = &run;
  Bits before = bits_of(run);
  EXPECT_EQ(run.run(), Ending::kDone);
  ASSERT_EQ(seen.states.size(), 6u);
  for (size_t step = 0; step < 6; ++step) {
    int64_t of_f = 0, of_g = 0;
    for (const std::string& name : changed(before, seen.states[step])) {
      (belongs_to(name, "f") ? of_f : of_g)++;
    }
    EXPECT_GT(of_f, 0) << step;
    EXPECT_EQ(of_g > 0, step % 2 == 0) << step;
    before = seen.states[step];
  }
}

TEST_F(GameTest, NetworksHaveTheirOwnRatesAndLosses) {
  Job job(machine(), game());
  ReportLog seen;
  train::Run run(job, {.out = {}, .listener = &seen});
  run.run();
  for (size_t step = 0; step < 6; ++step) {
    const auto& networks = seen.steps[step].networks;
    ASSERT_EQ(networks.size(), 2u);
    EXPECT_EQ(networks[0].name, "f");
    EXPECT_EQ(networks[1].name, "g");
    EXPECT_DOUBLE_EQ(networks[0].lr, 0.1 * (6 - static_cast<double>(step)) / 6);
    EXPECT_EQ(networks[1].lr, 0.01);
    EXPECT_NE(networks[0].loss, networks[1].loss);
  }
}

TEST_F(GameTest, InTwoHalvesItEndsAsInOne) {
  Job job(machine(), game());
  train::Run whole(job, {});
  whole.run();
  std::filesystem::path out = folder_.path() / "halves";
  create_run(out, job.config());
  int64_t steps = 0;
  {
    train::Run first(job, {.out = out, .stop = [&] { return ++steps > 3; }});
    EXPECT_EQ(first.run(), Ending::kInterrupted);
  }
  train::Run second(job, {.out = out});
  EXPECT_EQ(second.steps_done(), 3);
  second.run();
  EXPECT_TRUE(bits_of(whole) == bits_of(second));
}

TEST_F(GameTest, MicroBatchesAndLimitsAreForPhasesToo) {
  Job plain(machine(), game({"accumulate=2"}));
  train::Run free(plain, {});
  free.run();
  int64_t limit = free.programs().peak_bytes() * 85 / 100;
  Job tight(machine(),
            game({"accumulate=2", fmt::format("memory_limit={}", limit)}));
  train::Run limited(tight, {});
  limited.run();
  EXPECT_LE(limited.programs().peak_bytes(), limit);
  EXPECT_TRUE(bits_of(free) == bits_of(limited));
}

TEST_F(GameTest, AnUnknownNetworkIsNamed) {
  std::string text = io::error_of<std::invalid_argument>([&] {
    Job(machine(), game({"phases.0.loss=mse(f(x), 1) + mse(h(x), 1)"}));
  });
  io::expect_contains(text, "'h'");
}

}  // namespace
}  // namespace braid::train
