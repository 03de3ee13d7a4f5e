// How fast schedules are simulated, and how good policies are: chains of units
// on Hydra's grid against the lower bound, and clusters of jobs as wholes.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "braid/base/rng.h"
#include "braid/schedule/cluster.h"
#include "braid/schedule/unit_simulator.h"

namespace braid::schedule {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double ratio(double a, double b) { return b > 0 ? a / b : 0; }

// 3 to 16 shards, forward and backward, 10 to 80 minibatches in two epochs.
std::vector<Job> grid(size_t count, bool equal) {
  std::vector<Job> jobs;
  for (size_t i = 0; i < count; ++i) {
    uint64_t key = mix_bits(7, equal ? 0 : i);
    auto below = [&](uint64_t at, uint64_t most) {
      return static_cast<int64_t>(mix_bits(key, at) % most);
    };
    int64_t shards = 3 + below(0, 14), batches = 10 + below(1, 71);
    Job job;
    for (int64_t s = 0; s < 2 * shards; ++s) {
      int64_t ns = 5000 + below(static_cast<uint64_t>(2 + s % shards), 10'000);
      job.units.push_back({.compute_ns = s < shards ? ns : 3 * ns});
    }
    job.num_steps = 2 * batches;
    job.steps_per_epoch = batches;
    jobs.push_back(std::move(job));
  }
  return jobs;
}

void compare_policies() {
  fmt::print("makespan over the lower bound, and mean completion over it\n");
  fmt::print("{:>5} {:>8} {:>8}", "jobs", "devices", "");
  for (const PolicyKind& kind : policies()) {
    if (kind.name != "deadline") fmt::print(" {:>13}", kind.name);
  }
  fmt::print("\n");
  for (size_t count : {8, 12, 64}) {
    for (size_t num_devices : {1, 4, 8}) {
      for (bool equal : {true, false}) {
        std::vector<Job> jobs = grid(count, equal);
        std::vector<Device> devices(num_devices);
        auto bound = static_cast<double>(least_makespan_ns(jobs, devices));
        fmt::print("{:>5} {:>8} {:>8}", count, num_devices,
                   equal ? "equal" : "unequal");
        for (const PolicyKind& kind : policies()) {
          if (kind.name == "deadline") continue;
          Outcome outcome = simulate_units(jobs, devices, *kind.make(1));
          fmt::print(" {:>6.3f} {:>6.3f}",
                     ratio(static_cast<double>(outcome.makespan_ns()), bound),
                     ratio(completion(jobs, outcome).mean_ns, bound));
        }
        fmt::print("\n");
      }
    }
  }
}

void time_units() {
  fmt::print("\nunits a second, one core\n");
  fmt::print("{:>6} {:>8} {:>8} {:>12} {:>12}\n", "jobs", "devices", "policy",
             "units", "units/s");
  for (auto [count, num_devices] :
       {std::pair<size_t, size_t>{12, 1}, {64, 8}, {1000, 8}, {1000, 64}}) {
    std::vector<Job> jobs = grid(count, false);
    for (Job& job : jobs) {
      for (Unit& unit : job.units) unit.in_ns = unit.out_ns = 2000;
      job.num_steps *= count < 100 ? 40 : 2;
    }
    std::vector<Device> devices(num_devices);
    for (const char* policy : {"lrtf", "srtf", "fair"}) {
      auto begin = Clock::now();
      Outcome outcome = simulate_units(jobs, devices, *make_policy(policy));
      double took = seconds_since(begin);
      fmt::print("{:>6} {:>8} {:>8} {:>12} {:>12.0f}\n", count, num_devices,
                 policy, outcome.num_units,
                 ratio(static_cast<double>(outcome.num_units), took));
      std::fflush(stdout);
    }
  }
}

void time_cluster() {
  Cluster cluster;
  cluster.devices = {{.name = "a100", .count = 7000},
                     {.name = "v100", .count = 3000, .speed = 0.5}};
  cluster.quantum_s = 300;
  cluster.load = {.jobs = 100'000, .seed = 1, .hours = 24, .median_s = 7200};
  std::vector<Job> jobs = draw_jobs(cluster.load, 8);
  auto bound =
      static_cast<double>(least_makespan_ns(jobs, cluster.all_devices()));
  fmt::print(
      "\n{} jobs on {} devices, preempted at the ends of {:.0f} s; seconds of "
      "one core\n",
      jobs.size(), cluster.num_devices(), cluster.quantum_s);
  fmt::print("{:>9} {:>8} {:>10} {:>12} {:>10}\n", "policy", "s", "of bound",
             "mean h", "gave way");
  for (const PolicyKind& kind : policies()) {
    auto begin = Clock::now();
    Outcome outcome = simulate_cluster(jobs, cluster, *kind.make(1));
    double took = seconds_since(begin);
    fmt::print("{:>9} {:>8.2f} {:>10.3f} {:>12.2f} {:>10}\n", kind.name, took,
               ratio(static_cast<double>(outcome.makespan_ns()), bound),
               completion(jobs, outcome).mean_ns / 3.6e12,
               outcome.num_preempted);
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace braid::schedule

int main() {
  braid::schedule::compare_policies();
  braid::schedule::time_units();
  braid::schedule::time_cluster();
}
