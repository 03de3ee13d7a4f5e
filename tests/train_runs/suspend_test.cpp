// A run that leaves its device between steps goes on with the same bits,
// wherever that is.
#include "slow_machine.h"

namespace braid::train {
namespace {

struct Case {
  std::string name;
  std::string yaml;
  int64_t members = 1;  // 0: a job alone, without an axis of members
};

class SuspendTest : public SmallJobs, public testing::WithParamInterface<Case> {
 protected:
  std::unique_ptr<runtime::Backend> open(int index) {
    return machine_.open({DeviceKind::kCpu, index}, jobs_[0]->budget());
  }

  void make_jobs() {
    for (int64_t i = 0; i < std::max<int64_t>(GetParam().members, 1); ++i) {
      jobs_.push_back(std::make_unique<Job>(
          machine_, config(GetParam().yaml,
                           {fmt::format("seed={}", i),
                            fmt::format("optimizer.lr={}", 0.01 * (1 + i))})));
    }
  }

  std::unique_ptr<train::Run> start(runtime::Backend& device,
                                    compile::ProgramCache* cache = nullptr) {
    if (GetParam().members == 0) {
      return std::make_unique<train::Run>(*jobs_[0],
                                          RunOptions{.device = &device});
    }
    std::vector<RunMember> members;
    for (size_t i = 0; i < jobs_.size(); ++i) {
      members.push_back({.name = fmt::format("m{}", i), .job = jobs_[i].get()});
    }
    return std::make_unique<train::Run>(
        members, RunOptions{.device = &device, .programs = cache});
  }

  Bits straight() {
    auto device = open(0);
    auto run = start(*device);
    run->run();
    return bits_of(*run);
  }

  SlowMachine machine_;
  std::vector<std::unique_ptr<Job>> jobs_;
};

TEST_P(SuspendTest, MovedBetweenDevicesItEndsWithTheSameBits) {
  make_jobs();
  Bits wanted = straight();
  for (int every : {1, 2, 5}) {
    auto device = open(0);
    auto run = start(*device);
    for (int ticks = 1; run->tick(); ++ticks) {
      bool has_ended = run->members()[0]->state != MemberState::kTraining;
      if (ticks % every != 0 || has_ended) continue;
      run->suspend();
      EXPECT_EQ(device->account().used_bytes(), 0);
      EXPECT_EQ(device->host_account().used_bytes(), 0);
      device = open(ticks % 3);
      run->resume(*device);
    }
    EXPECT_EQ(differences(bits_of(*run), wanted), "") << "every " << every;
    run.reset();
  }
}

TEST_P(SuspendTest, ADeviceThatIsTooSmallIsLeftAgain) {
  make_jobs();
  Bits wanted = straight();
  auto device = open(0);
  auto run = start(*device);
  run->tick();
  run->suspend();
  runtime::Budget budget = jobs_[0]->budget();
  budget.bytes = 64;
  auto small = machine_.open({DeviceKind::kCpu, 1}, budget);
  EXPECT_THROW(run->resume(*small), std::runtime_error);
  EXPECT_EQ(small->account().used_bytes(), 0);
  run->resume(*device);
  run->run();
  EXPECT_EQ(differences(bits_of(*run), wanted), "");
  run.reset();
}

// Programs of another array of such jobs are as good as its own.
TEST_P(SuspendTest, SharedProgramsChangeNothing) {
  make_jobs();
  Bits wanted = straight();
  compile::ProgramCache cache;
  std::ranges::reverse(jobs_);
  {
    auto device = open(0);
    start(*device, &cache)->run();
  }
  std::ranges::reverse(jobs_);
  auto device = open(0);
  auto run = start(*device, &cache);
  run->tick();
  run->suspend();
  device = open(1);
  run->resume(*device);
  run->run();
  EXPECT_EQ(differences(bits_of(*run), wanted), "");
  run.reset();
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, SuspendTest,
    testing::Values(
        Case{"Alone", "model: mlp(hidden=6,dropout=0.3)\nepochs: 3\n", 0},
        Case{"One", "model: mlp(hidden=6,dropout=0.3)\nepochs: 3\n", 1},
        Case{"Several",
             "model: mlp(hidden=6,dropout=0.3)\nepochs: 3\nema: 0.9\n"
             "schedule: cosine(warmup=20%)\noptimizer: adamw\n",
             3},
        Case{"Accumulated",
             "model: mlp(hidden=6,layers=3)\nepochs: 3\naccumulate: 2\n"
             "clip: {norm: 0.1}\noptimizer: adamw\n",
             2},
        Case{
            "Spilled",
            "model: mlp(hidden=6,layers=3)\nepochs: 3\noptimizer: adamw\n"
            "plan: {depth: 1, segments: {default: 'recompute,spilled,host'}}\n",
            2}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace braid::train
