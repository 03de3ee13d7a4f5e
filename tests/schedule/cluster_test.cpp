#include "braid/schedule/cluster.h"

#include <gtest/gtest.h>

#include "schedule/chains.h"
#include "thrown.h"

namespace braid::schedule {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

Cluster cluster_of(int64_t count, double quantum_s = 60) {
  Cluster cluster;
  cluster.devices = {{.count = count}};
  cluster.quantum_s = quantum_s;
  return cluster;
}

Job whole(double seconds, double arrival_s = 0, int64_t num_devices = 1) {
  Job job = chain({{.compute_ns = std::llround(1e9 * seconds)}});
  job.arrival_ns = std::llround(1e9 * arrival_s);
  job.num_devices = num_devices;
  return job;
}

Outcome simulated_on(const std::vector<Job>& jobs, const Cluster& cluster,
                     const char* policy) {
  return simulate_cluster(jobs, cluster, *make_policy(policy, 1));
}

TEST(Cluster, JobsBeginWhereThereIsRoom) {
  std::vector<Job> jobs{whole(10), whole(20, 1), whole(5, 2)};
  Outcome outcome = simulated_on(jobs, cluster_of(2), "fifo");
  EXPECT_EQ(outcome.jobs[0].end_ns, 10 * kSecond);
  EXPECT_EQ(outcome.jobs[1].end_ns, 21 * kSecond);
  EXPECT_EQ(outcome.jobs[2].begin_ns, 10 * kSecond);
  EXPECT_EQ(outcome.num_preempted, 0);
}

TEST(Cluster, LongJobsGiveWayAtTheEndOfAQuantum) {
  std::vector<Job> jobs{whole(1000), whole(10, 5)};
  Cluster cluster = cluster_of(1);
  Outcome outcome = simulated_on(jobs, cluster, "srtf");
  EXPECT_EQ(outcome.jobs[1].begin_ns, 60 * kSecond);
  EXPECT_EQ(outcome.jobs[1].end_ns, 70 * kSecond);
  EXPECT_EQ(outcome.jobs[0].end_ns, 1010 * kSecond);
  EXPECT_EQ(outcome.num_preempted, 1);
  cluster.restart_s = 7;
  EXPECT_EQ(simulated_on(jobs, cluster, "srtf").jobs[0].end_ns, 1017 * kSecond);
}

TEST(Cluster, WideJobsWaitForAllTheirDevices) {
  std::vector<Job> jobs{whole(10, 0, 1), whole(10, 1, 4), whole(3, 2, 2)};
  Outcome outcome = simulated_on(jobs, cluster_of(4), "fifo");
  EXPECT_EQ(outcome.jobs[2].begin_ns, 2 * kSecond);  // goes first meanwhile
  EXPECT_EQ(outcome.jobs[1].begin_ns, 10 * kSecond);
  EXPECT_EQ(outcome.devices[0].compute_ns, 56e9);
}

TEST(Cluster, FasterGroupsComeFirst) {
  Cluster cluster = cluster_of(1);
  cluster.devices.push_back({.name = "fast", .count = 1, .speed = 4});
  Outcome outcome = simulated_on({whole(40), whole(40)}, cluster, "fifo");
  EXPECT_EQ(outcome.jobs[0].end_ns, 10 * kSecond);
  EXPECT_EQ(outcome.jobs[1].end_ns, 40 * kSecond);
}

TEST(Cluster, JobsGoToFasterDevicesWhenThesePay) {
  Cluster cluster = cluster_of(1);
  cluster.devices.push_back({.name = "fast", .count = 1, .speed = 4});
  cluster.restart_s = 10;
  std::vector<Job> jobs{whole(40), whole(400)};
  Outcome outcome = simulated_on(jobs, cluster, "fifo");
  // 60 s at speed 1, 10 s lost, 340 s at speed 4.
  EXPECT_EQ(outcome.jobs[1].end_ns, (60 + 10 + 85) * kSecond);
  EXPECT_EQ(
      simulated_on({whole(40), whole(70)}, cluster, "fifo").jobs[1].end_ns,
      70 * kSecond);
}

// Jobs as wholes and unit by unit, where a quantum is a unit.
TEST(Cluster, BothLevelsAgree) {
  for (const char* policy : {"lrtf", "srtf", "fifo", "fair"}) {
    std::vector<Job> units, wholes;
    for (int64_t i = 0; i < 40; ++i) {
      int64_t seconds = 200 + static_cast<int64_t>(mix_bits(3, i) % 2000);
      units.push_back(work(seconds, kSecond));
      units.back().arrival_ns = 10 * i * kSecond;
      wholes.push_back(whole(static_cast<double>(seconds)));
      wholes.back().arrival_ns = 10 * i * kSecond;
    }
    Outcome a = simulated(units, 6, policy);
    Outcome b = simulated_on(wholes, cluster_of(6, 1), policy);
    auto near = [&](double x, double y) {
      EXPECT_NEAR(x / y, 1, 0.01) << policy;
    };
    near(static_cast<double>(a.makespan_ns()),
         static_cast<double>(b.makespan_ns()));
    near(completion(units, a).mean_ns, completion(wholes, b).mean_ns);
  }
}

TEST(Cluster, DrawnJobsGoThroughAnyPolicyWithinTheBound) {
  LoadConfig load{.jobs = 500, .seed = 3, .hours = 2};
  std::vector<Job> jobs = draw_jobs(load, 8);
  Cluster cluster = cluster_of(40);
  cluster.devices.push_back({.name = "slow", .count = 20, .speed = 0.5});
  int64_t least = least_makespan_ns(jobs, cluster.all_devices());
  double work = 0;
  for (const Job& job : jobs) {
    work += static_cast<double>(job.work_ns() * job.num_devices);
  }
  for (const PolicyKind& kind : policies()) {
    Outcome outcome = simulate_cluster(jobs, cluster, *kind.make(1));
    EXPECT_GE(outcome.makespan_ns(), least) << kind.name;
    double done =
        outcome.devices[0].compute_ns + 0.5 * outcome.devices[1].compute_ns;
    EXPECT_NEAR(done / work, 1, 1e-6) << kind.name;
    for (size_t i = 0; i < jobs.size(); ++i) {
      EXPECT_GE(outcome.jobs[i].begin_ns, jobs[i].arrival_ns);
      EXPECT_GE(outcome.jobs[i].end_ns - outcome.jobs[i].begin_ns,
                jobs[i].work_ns());
    }
  }
}

TEST(Cluster, RepeatedJobsAreFoundByNameAndUser) {
  std::vector<Job> jobs(5, whole(100));
  const char* names[] = {"lr-0.1", "lr-0.01", "lr-3", "other", "lr-0.1"};
  for (size_t i = 0; i < 5; ++i) jobs[i].name = names[i];
  jobs[4].user = "else";
  Fusing fusing = fuse_repeated(jobs, 2, 0.25);
  EXPECT_EQ(fusing.num_repeated, 3);
  EXPECT_DOUBLE_EQ(fusing.repeated_ns, 300e9);
  EXPECT_DOUBLE_EQ(fusing.saved_ns, 75e9);
}

TEST(Cluster, ReadsAFile) {
  Cluster cluster = parse_cluster(
      "devices:\n  - {name: a100, count: 8}\n  - {count: 2, speed: 0.5}\n"
      "quantum: 30\nload: {jobs: 7, several: 0}\n",
      "cluster.yaml");
  EXPECT_EQ(cluster.num_devices(), 10);
  EXPECT_EQ(cluster.quantum_s, 30);
  EXPECT_EQ(draw_jobs(cluster.load, 8).size(), 7u);
}

std::string refused(std::string_view text) {
  return thrown_by<std::invalid_argument>(
      [&] { parse_cluster(text, "cluster.yaml"); });
}

TEST(Cluster, RefusesFilesWithTheirLines) {
  auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(refused("quantum: 5\n"), "expected `devices`");
  has(refused("devices:\n  - {count: 0}\n"), "line 2");
  has(refused("devices:\n  - {count: 4, sped: 2}\n"),
      "did you mean 'devices.0.speed'");
  has(refused("devices:\n  - {count: four}\n"), "'four'");
  has(refused("devices: [{count: 4}]\nquantum: 0\n"), "line 2");
  has(thrown_by<std::invalid_argument>(
          [] { simulated_on({whole(1, 0, 5)}, cluster_of(4), "fifo"); }),
      "wants 5 devices");
  Cluster stuck = cluster_of(1);
  stuck.restart_s = 60;
  has(thrown_by<std::invalid_argument>(
          [&] { simulated_on({whole(1)}, stuck, "fifo"); }),
      "less than the quantum");
}

}  // namespace
}  // namespace braid::schedule
