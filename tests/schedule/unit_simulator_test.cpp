#include "braid/schedule/unit_simulator.h"

#include <gtest/gtest.h>

#include "schedule/chains.h"
#include "thrown.h"

namespace braid::schedule {
namespace {

std::vector<std::string> policy_names() {
  std::vector<std::string> names;
  for (const PolicyKind& kind : policies()) names.emplace_back(kind.name);
  return names;
}

std::vector<Job> with_deadlines(std::vector<Job> jobs) {
  for (size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].deadline_ns = 1000 * static_cast<int64_t>(jobs.size() - i);
    jobs[i].priority = static_cast<double>(i % 3);
  }
  return jobs;
}

// Whatever happened could have happened: a device computes one unit at a time,
// the units of a job come in their order, and all of them come.
void check_spans(const std::vector<Job>& jobs, size_t num_devices,
                 const Outcome& outcome) {
  std::vector<int64_t> device_until(num_devices, 0), units(jobs.size(), 0),
      job_until(jobs.size(), 0);
  std::vector<Span> spans = outcome.spans;
  std::ranges::stable_sort(spans, {}, &Span::begin_ns);
  for (const Span& span : spans) {
    auto d = static_cast<size_t>(span.device),
         j = static_cast<size_t>(span.job);
    ASSERT_GE(span.begin_ns, device_until[d]);
    ASSERT_GE(span.begin_ns, job_until[j]);
    ASSERT_GE(span.begin_ns, jobs[j].arrival_ns);
    ASSERT_EQ(span.unit, units[j]++);
    const Unit& unit =
        jobs[j].units[static_cast<size_t>(span.unit) % jobs[j].units.size()];
    ASSERT_EQ(span.end_ns - span.begin_ns, unit.compute_ns);
    device_until[d] = job_until[j] = span.end_ns;
  }
  for (size_t j = 0; j < jobs.size(); ++j) {
    EXPECT_EQ(units[j], jobs[j].num_units());
    EXPECT_GE(outcome.jobs[j].end_ns, job_until[j]);
  }
}

TEST(UnitSimulator, EveryPolicyRunsEveryUnitOnce) {
  for (const std::string& policy : policy_names()) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      std::vector<Job> jobs = with_deadlines(grid(1 + seed % 9, false, seed));
      for (size_t i = 0; i < jobs.size(); ++i) {
        jobs[i].num_steps = 1 + static_cast<int64_t>(seed % 4);
        jobs[i].arrival_ns = static_cast<int64_t>(i * seed * 700);
        for (Unit& unit : jobs[i].units) {
          unit.in_ns = static_cast<int64_t>(mix_bits(seed, i) % 80);
          unit.out_ns = static_cast<int64_t>(mix_bits(i, seed) % 80);
        }
      }
      size_t count = 1 + seed % 4;
      for (bool prefetches : {true, false}) {
        for (bool interleaves : {true, false}) {
          UnitOptions options{prefetches, interleaves, true};
          Outcome outcome = simulated(jobs, count, policy.c_str(), options);
          check_spans(jobs, count, outcome);
          EXPECT_GE(outcome.makespan_ns(),
                    least_makespan_ns(jobs, devices(count)));
          Outcome again = simulated(jobs, count, policy.c_str(), options);
          EXPECT_EQ(again.end_ns, outcome.end_ns);
        }
      }
    }
  }
}

// --- closed forms ------------------------------------------------------------

TEST(UnitSimulator, OneDeviceTakesTheSum) {
  std::vector<Job> jobs{work(7, 10), work(3, 25), work(1, 40)};
  for (const std::string& policy : policy_names()) {
    EXPECT_EQ(simulated(with_deadlines(jobs), 1, policy.c_str()).makespan_ns(),
              70 + 75 + 40)
        << policy;
  }
}

TEST(UnitSimulator, EqualJobsShareDevicesEvenly) {
  std::vector<Job> jobs(12, work(30));
  for (size_t count : {1, 2, 3, 4, 6, 12}) {
    EXPECT_EQ(simulated(jobs, count, "lrtf").makespan_ns(),
              12 * 300 / static_cast<int64_t>(count));
  }
}

TEST(UnitSimulator, OneLongJobIsAloneToTheEnd) {
  std::vector<Job> jobs{work(5), work(1000), work(5), work(5)};
  Outcome outcome = simulated(jobs, 4, "lrtf");
  EXPECT_EQ(outcome.makespan_ns(), 10'000);
  EXPECT_EQ(outcome.jobs[0].end_ns, 50);
}

TEST(UnitSimulator, FasterDevicesTakeLess) {
  std::vector<Device> fast{{"a", 2}, {"b", 1}};
  Outcome outcome = simulate_units({work(30)}, fast, *make_policy("fifo"));
  EXPECT_EQ(outcome.makespan_ns(), 150);
}

// Copies of a job that waits are hidden behind the units of another.
TEST(UnitSimulator, CopiesAreHiddenBehindOtherJobs) {
  std::vector<Job> jobs(
      4, chain({{.compute_ns = 100, .in_ns = 80, .out_ns = 60}}, 50));
  int64_t compute = 4 * 50 * 100;
  int64_t hidden = simulated(jobs, 1, "lrtf").makespan_ns();
  EXPECT_LE(hidden, compute + 80 + 60 + 100);
  int64_t in_turn =
      simulated(jobs, 1, "lrtf", {.prefetches = false}).makespan_ns();
  EXPECT_EQ(in_turn, 4 * 50 * (100 + 80 + 60));
  for (Job& job : jobs) job.units[0].in_ns = 300;
  int64_t bound = 4 * 50 * 300;
  EXPECT_LE(simulated(jobs, 1, "lrtf").makespan_ns(), bound + bound / 100);
}

// --- policies ----------------------------------------------------------------

TEST(Policies, LongestFirstIsAsGoodAsCanBe) {
  for (size_t count : {8, 12, 64}) {
    for (size_t num_devices : {1, 4, 8}) {
      for (bool equal : {true, false}) {
        for (uint64_t seed = 0; seed < 3; ++seed) {
          std::vector<Job> jobs = grid(count, equal, seed);
          int64_t least = least_makespan_ns(jobs, devices(num_devices));
          int64_t took = simulated(jobs, num_devices, "lrtf").makespan_ns();
          EXPECT_LE(static_cast<double>(took),
                    1.01 * static_cast<double>(least))
              << count << " jobs, " << num_devices << " devices, " << equal
              << " " << seed;
        }
      }
    }
  }
}

TEST(Policies, ShortestFirstIsExactOnOneDevice) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    std::vector<Job> jobs = grid(9, false, seed);
    std::vector<int64_t> lengths;
    for (const Job& job : jobs) lengths.push_back(job.work_ns());
    std::ranges::sort(lengths);
    double sum = 0;
    int64_t at = 0;
    for (int64_t length : lengths) {
      at += length;
      sum += static_cast<double>(at);
    }
    Outcome outcome = simulated(jobs, 1, "srtf");
    EXPECT_DOUBLE_EQ(completion(jobs, outcome).mean_ns, sum / 9);
  }
}

TEST(Policies, ShortestFirstHasFirstResultsSooner) {
  for (size_t count : {8, 12, 64}) {
    for (size_t num_devices : {1, 4, 8}) {
      for (uint64_t seed = 0; seed < 3; ++seed) {
        std::vector<Job> jobs = grid(count, false, seed);
        auto mean = [&](const char* policy) {
          return completion(jobs, simulated(jobs, num_devices, policy)).mean_ns;
        };
        double ratio = mean("srtf") / mean("lrtf");
        EXPECT_LE(ratio, 1) << count << " " << num_devices;
        if (count == 64) {
          EXPECT_LE(ratio, 0.6) << num_devices;
        }
      }
    }
  }
}

// The time of a minibatch grows from epoch to epoch, though none takes longer.
TEST(Policies, HydraThinksThatItTakesLongerAndLonger) {
  Job job = chain({{.compute_ns = 10}}, 40);
  job.steps_per_epoch = 10;
  auto policy = make_policy("hydra");
  auto minibatch = [&](int64_t epoch) {
    JobView view{.job = &job,
                 .units_begun = 10 * epoch + 5,
                 .steps_done = 10 * epoch + 5};
    int64_t left = 5 + 10 * (4 - epoch - 1);
    return -policy->key(view) / static_cast<double>(left);
  };
  EXPECT_DOUBLE_EQ(minibatch(0), 10);
  EXPECT_DOUBLE_EQ(minibatch(1), 30);
  EXPECT_DOUBLE_EQ(minibatch(2), 50);
  JobView fresh{.job = &job};
  EXPECT_DOUBLE_EQ(-policy->key(fresh), 10 * 50);  // an epoch too many
}

TEST(Policies, EachGoesByItsOwn) {
  std::vector<Job> jobs(3, work(10));
  jobs[0].priority = 1;
  jobs[1].priority = 3;
  jobs[2].priority = 2;
  auto ends = [&](const char* policy) {
    Outcome o = simulated(jobs, 1, policy);
    return std::vector<int64_t>{o.jobs[0].end_ns, o.jobs[1].end_ns,
                                o.jobs[2].end_ns};
  };
  EXPECT_EQ(ends("priority"), (std::vector<int64_t>{300, 100, 200}));
  EXPECT_EQ(ends("fifo"), (std::vector<int64_t>{100, 200, 300}));
  for (int64_t end : ends("fair")) EXPECT_GE(end, 280);
  for (size_t i = 0; i < 3; ++i) {
    jobs[i].deadline_ns = 500 - 100 * static_cast<int64_t>(i);
  }
  EXPECT_EQ(ends("deadline"), (std::vector<int64_t>{300, 200, 100}));
}

// --- what is refused ---------------------------------------------------------

std::string refused(std::vector<Job> jobs, const char* policy = "fifo",
                    std::vector<Device> devices = {{"a", 1}}) {
  return thrown_by<std::invalid_argument>(
      [&] { simulate_units(jobs, devices, *make_policy(policy)); });
}

TEST(UnitSimulator, RefusesWhatMakesNoSense) {
  EXPECT_NE(refused({chain({})}).find("at least one unit"), std::string::npos);
  EXPECT_NE(refused({work(0)}).find("at least one step"), std::string::npos);
  EXPECT_NE(refused({work(3, -1)}).find("at least 0"), std::string::npos);
  EXPECT_NE(refused({work(1LL << 40, 1LL << 40)}).find("36 years"),
            std::string::npos);
  EXPECT_NE(refused({work(1)}, "fifo", {}).find("one device"),
            std::string::npos);
  EXPECT_NE(refused({work(1)}, "fifo", {{"slow", 0}}).find("'slow'"),
            std::string::npos);
  EXPECT_NE(refused({work(1)}, "deadline").find("job 1 has none"),
            std::string::npos);
  EXPECT_NE(refused({work(1)}, "lrft").find("did you mean 'lrtf'"),
            std::string::npos);
  Job wide = work(1);
  wide.num_devices = 2;
  EXPECT_NE(refused({wide}).find("wants 2"), std::string::npos);
}

TEST(UnitSimulator, NothingTakesNoTime) {
  Outcome outcome = simulated({}, 3, "lrtf");
  EXPECT_EQ(outcome.makespan_ns(), 0);
  EXPECT_EQ(least_makespan_ns({}, devices(3)), 0);
}

}  // namespace
}  // namespace braid::schedule
