// Jobs that share devices: each ends with the bits that it has alone, limits
// hold, and what fails fails alone.
#include "braid/train/jobs/orchestrator.h"

#include <thread>

#include "braid/base/error.h"
#include "braid/base/rng.h"
#include "slow_machine.h"

namespace braid::train {
namespace {

// Kinds of jobs: small ones, some with plans that copy all the time, arrays.
struct Kind {
  std::string yaml;
  int64_t members = 1;
};
const Kind kKinds[] = {
    {"model: mlp(hidden=6,dropout=0.2)\nepochs: 2\n", 1},
    {"model: mlp(hidden=12,layers=3)\nepochs: 3\noptimizer: adamw\n"
     "plan: {depth: 1, segments: {default: 'recompute,spilled,host'}}\n",
     1},
    {"model: mlp(hidden=5)\nepochs: 4\nema: 0.9\n", 3},
    {"model: mlp(hidden=8,layers=2)\nepochs: 1\noptimizer: adamw\n"
     "plan: {depth: 2, segments: {default: 'offload,spilled,device'}}\n"
     "accumulate: 2\n",
     2},
};

class OrchestratorTest : public SmallJobs {
 protected:
  // An array of jobs, its run, and what came of it.
  struct Entry {
    std::vector<std::unique_ptr<Job>> jobs;
    Bits bits;
    int64_t begun = 0, ended = 0;
    bool has_run = false;
    std::string error;
    std::vector<std::string> places;
    std::atomic<int> present = 0;  // places that it is in
  };

  Entry& add(const Kind& kind, int64_t seed,
             const std::vector<std::string>& more = {}) {
    auto entry = std::make_unique<Entry>();
    for (int64_t i = 0; i < kind.members; ++i) {
      std::vector<std::string> words = {
          fmt::format("seed={}", 10 * seed + i),
          fmt::format("optimizer.lr={}", 0.01 / double(1 + i))};
      words.insert(words.end(), more.begin(), more.end());
      entry->jobs.push_back(
          std::make_unique<Job>(*machine_, config(kind.yaml, words)));
    }
    entries_.push_back(std::move(entry));
    return *entries_.back();
  }

  static std::vector<RunMember> members_of(const Entry& entry) {
    std::vector<RunMember> members;
    for (size_t i = 0; i < entry.jobs.size(); ++i) {
      members.push_back(
          {.name = fmt::format("m{}", i), .job = entry.jobs[i].get()});
    }
    return members;
  }

  Work work(Entry& entry) {
    const Job& first = *entry.jobs[0];
    Work work{.name = fmt::format("job {}", works_++),
              .step_s = 1e-4,
              .steps = first.num_steps(),
              .priority = first.config().priority,
              .deadline_s = first.config().deadline.value_or(0)};
    work.open = [this, &first](std::optional<DeviceId> device,
                               runtime::Budget budget) {
      budget.cores = 1;
      budget.bytes = std::min(budget.bytes, first.budget().bytes);
      return machine_->open(device.value_or(DeviceId{}), budget);
    };
    work.begin = [this, &entry](runtime::Backend& device) {
      ++entry.begun;
      return std::make_unique<train::Run>(
          members_of(entry),
          RunOptions{.stop = stop_, .device = &device, .programs = &cache_});
    };
    work.moved = [&entry](const runtime::Backend* device) {
      entry.present += device ? 1 : -1;
      EXPECT_LE(entry.present, 1);
      if (device) entry.places.push_back(device->name());
    };
    work.end = [&entry](train::Run* run, const std::exception_ptr& error) {
      ++entry.ended;
      entry.present = 0;
      entry.has_run = run != nullptr;
      if (error) {
        try {
          std::rethrow_exception(error);
        } catch (const std::exception& e) {
          entry.error = e.what();
        }
      } else if (run && run->ending() == Ending::kDone) {
        entry.bits = bits_of(*run);
      }
    };
    return work;
  }

  Ending run(JobDevices devices) {
    std::vector<Work> works;
    for (const auto& entry : entries_) works.push_back(work(*entry));
    auto policy = schedule::make_policy(devices.policy, devices.seed);
    Orchestrator orchestrator(
        std::move(works), *policy,
        {.devices = std::move(devices), .stop = stop_, .say = say_});
    return orchestrator.run();
  }

  void expect_as_alone() {
    for (size_t i = 0; i < entries_.size(); ++i) {
      Entry& entry = *entries_[i];
      EXPECT_EQ(entry.error, "") << i;
      EXPECT_EQ(entry.ended, 1) << i;
      auto device = machine_->open({}, entry.jobs[0]->budget());
      train::Run alone(members_of(entry), {.device = device.get()});
      alone.run();
      EXPECT_EQ(differences(entry.bits, bits_of(alone)), "") << i;
    }
  }

  static std::vector<DeviceId> cpus(int count) {
    std::vector<DeviceId> ids;
    for (int i = 0; i < count; ++i) ids.push_back({DeviceKind::kCpu, i});
    return ids;
  }

  std::unique_ptr<SlowMachine> machine_ = std::make_unique<SlowMachine>();
  std::function<bool()> stop_ = [] { return false; };
  std::function<void(const std::string&)> say_ = {};
  compile::ProgramCache cache_;
  std::vector<std::unique_ptr<Entry>> entries_;
  int works_ = 0;
};

struct Sharing {
  std::string policy;
  int devices = 1, at_once = 1;
};

class SharingTest : public OrchestratorTest,
                    public testing::WithParamInterface<Sharing> {};

// A quantum of 0: whoever should go first does so at once, so that jobs move as
// often as can be; copies take random times.
TEST_P(SharingTest, EachEndsAsAloneWithinTheLimit) {
  std::atomic<uint64_t> draws = 0;
  machine_ = std::make_unique<SlowMachine>([&](DeviceId, int64_t) {
    uint64_t drawn = mix_bits(7, ++draws);
    std::this_thread::sleep_for(std::chrono::microseconds(drawn % 300));
  });
  constexpr int64_t kLimit = 1 << 16;
  for (int64_t i = 0; i < 7; ++i) {
    add(kKinds[static_cast<size_t>(i) % std::size(kKinds)], i,
        {fmt::format("deadline={}", 10 - i),
         fmt::format("priority={}", i % 3)});
  }
  EXPECT_EQ(run({.ids = cpus(GetParam().devices),
                 .memory_limit = kLimit,
                 .at_once = GetParam().at_once,
                 .policy = GetParam().policy,
                 .seed = 3,
                 .quantum_s = 0}),
            Ending::kDone);
  for (int i = 0; i < GetParam().devices; ++i) {
    EXPECT_LE(machine_->most_bytes(i), kLimit) << "cpu:" << i;
    EXPECT_GT(machine_->most_bytes(i), 0) << "cpu:" << i;
  }
  expect_as_alone();
}

std::vector<Sharing> sharings() {
  std::vector<Sharing> all;
  for (const schedule::PolicyKind& kind : schedule::policies()) {
    all.push_back({std::string(kind.name), 2, 2});
  }
  for (int devices : {1, 3}) {
    for (int at_once : {1, 3}) all.push_back({"lrtf", devices, at_once});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Policies, SharingTest, testing::ValuesIn(sharings()),
                         [](const auto& test) {
                           return fmt::format("{}_{}x{}", test.param.policy,
                                              test.param.devices,
                                              test.param.at_once);
                         });

// Little work first: the short ones are done before the long one.
TEST_F(OrchestratorTest, ShortJobsGoFirstUnderSrtf) {
  std::vector<size_t> order;
  add(kKinds[0], 0, {"epochs=40"});
  add(kKinds[0], 1, {"epochs=1"});
  add(kKinds[0], 2, {"epochs=3"});
  std::vector<Work> works;
  for (size_t i = 0; i < entries_.size(); ++i) {
    works.push_back(work(*entries_[i]));
    works.back().end = [&order, i](train::Run*, const std::exception_ptr&) {
      order.push_back(i);
    };
  }
  auto policy = schedule::make_policy("srtf");
  Orchestrator(std::move(works), *policy, {.devices = {.ids = cpus(1)}}).run();
  EXPECT_EQ(order, (std::vector<size_t>{1, 2, 0}));
}

TEST_F(OrchestratorTest, AJobThatDoesNotFitFailsAlone) {
  add(kKinds[0], 0);
  add(kKinds[0], 1, {"memory_limit=100"});
  add(kKinds[2], 2);
  EXPECT_EQ(run({.ids = cpus(2)}), Ending::kDone);
  EXPECT_NE(entries_[1]->error.find("100 B"), std::string::npos)
      << entries_[1]->error;
  EXPECT_EQ(entries_[1]->begun, 1);  // it would fit nowhere
  entries_.erase(entries_.begin() + 1);
  expect_as_alone();
}

// Copies of one device fail after a while.
TEST_F(OrchestratorTest, ADeviceThatFailsGivesItsJobsToOthers) {
  std::atomic<int> copies = 0;
  machine_ = std::make_unique<SlowMachine>([&](DeviceId device, int64_t) {
    if (device.index == 1 && ++copies > 4) fail_world("[copy] lost");
  });
  std::string said;
  say_ = [&](const std::string& text) { said += text + "\n"; };
  for (int64_t i = 0; i < 4; ++i) add(kKinds[1], i);
  EXPECT_EQ(run({.ids = cpus(2), .quantum_s = 0}), Ending::kDone);
  EXPECT_NE(said.find("failed on cpu:1 and is tried on another device: lost"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("cpu:1 is left out: 2 jobs in a row failed there"),
            std::string::npos)
      << said;
  expect_as_alone();
}

// On every device: then it is the job's.
TEST_F(OrchestratorTest, AJobThatFailsEverywhereFails) {
  machine_ = std::make_unique<SlowMachine>(
      [&](DeviceId, int64_t) { fail_world("[copy] lost"); });
  add(kKinds[0], 0);  // copies nothing
  add(kKinds[1], 1);
  EXPECT_EQ(run({.ids = cpus(2)}), Ending::kDone);
  EXPECT_EQ(entries_[1]->error, "[copy] lost");
  EXPECT_EQ(entries_[1]->ended, 1);
  entries_.pop_back();
  expect_as_alone();
}

TEST_F(OrchestratorTest, WhoStopsItGetsEveryRunBack) {
  std::atomic<int64_t> asked = 0;
  stop_ = [&] { return ++asked > 60; };
  for (int64_t i = 0; i < 6; ++i) add(kKinds[0], i, {"epochs=100"});
  EXPECT_EQ(
      run({.ids = cpus(2), .at_once = 1, .policy = "fair", .quantum_s = 0}),
      Ending::kInterrupted);
  for (const auto& entry : entries_) {
    EXPECT_EQ(entry->ended, 1);
    EXPECT_EQ(entry->has_run, entry->begun > 0);
    EXPECT_EQ(entry->error, "");
  }
}

TEST_F(OrchestratorTest, JobsMayComeLater) {
  add(kKinds[0], 0);
  add(kKinds[2], 1);
  auto policy = schedule::make_policy("lrtf");
  std::unique_ptr<Orchestrator> orchestrator;
  std::vector<Work> first;
  first.push_back(work(*entries_[0]));
  auto begin = first[0].begin;
  first[0].begin = [&, begin](runtime::Backend& device) {
    orchestrator->add(work(*entries_[1]));
    return begin(device);
  };
  orchestrator = std::make_unique<Orchestrator>(
      std::move(first), *policy,
      OrchestratorOptions{.devices = {.ids = cpus(1)}});
  EXPECT_EQ(orchestrator->run(), Ending::kDone);
  expect_as_alone();
}

// By the first that ends: one that trains, and one that has not begun.
TEST_F(OrchestratorTest, AnyMayBeStopped) {
  add(kKinds[0], 0);
  add(kKinds[0], 1, {"epochs=100000"});
  add(kKinds[2], 2, {"epochs=100000"});
  auto policy = schedule::make_policy("fifo");
  std::unique_ptr<Orchestrator> orchestrator;
  std::vector<Work> works;
  for (const auto& entry : entries_) works.push_back(work(*entry));
  works[0].end = [&, end = works[0].end](train::Run* run,
                                         const std::exception_ptr& error) {
    orchestrator->stop(1);
    orchestrator->stop(2);
    end(run, error);
  };
  orchestrator = std::make_unique<Orchestrator>(
      std::move(works), *policy,
      OrchestratorOptions{.devices = {.ids = cpus(2)}});
  EXPECT_EQ(orchestrator->run(), Ending::kDone);
  EXPECT_TRUE(entries_[1]->has_run);
  EXPECT_EQ(entries_[2]->begun, 0);
  for (size_t i : {size_t{1}, size_t{2}}) {
    EXPECT_EQ(entries_[i]->ended, 1) << i;
    EXPECT_EQ(entries_[i]->error, "") << i;
  }
  EXPECT_THROW(orchestrator->stop(3), std::out_of_range);
}

TEST_F(OrchestratorTest, APolicyWithoutItsValueIsAnError) {
  add(kKinds[0], 0);
  EXPECT_THROW(run({.ids = cpus(1), .policy = "deadline"}),
               std::invalid_argument);
  EXPECT_THROW(run({.ids = cpus(1), .policy = "best"}), std::invalid_argument);
}

// Whoever listens and fails ends everything, and is heard.
TEST_F(OrchestratorTest, ErrorsOfCallbacksEndIt) {
  for (int64_t i = 0; i < 4; ++i) add(kKinds[0], i);
  std::vector<Work> works;
  for (const auto& entry : entries_) works.push_back(work(*entry));
  works[2].end = [](train::Run*, const std::exception_ptr&) {
    throw std::runtime_error("disk full");
  };
  auto policy = schedule::make_policy("lrtf");
  Orchestrator orchestrator(std::move(works), *policy,
                            {.devices = {.ids = cpus(2)}});
  EXPECT_THROW(orchestrator.run(), std::runtime_error);
}

}  // namespace
}  // namespace braid::train
