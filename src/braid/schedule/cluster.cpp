#include "braid/schedule/cluster.h"

#include <cmath>
#include <map>

#include "braid/base/error.h"
#include "braid/base/printable.h"
#include "braid/base/rng.h"
#include "braid/config/file_text.h"

namespace braid::schedule {
namespace {

constexpr double kNsPerS = 1e9;

// Numbers of one job, drawn by its own number.
class Draw {
 public:
  Draw(int64_t seed, int64_t job)
      : key_(mix_bits(static_cast<uint64_t>(seed),
                      static_cast<uint64_t>(job))) {}

  double uniform() {
    RandomBlock block = philox(key_, at_++, 0);
    return unit_interval(block.word[0]);
  }

  double normal() {
    double length = std::sqrt(-2 * std::log(1 - uniform()));
    return length * std::cos(2 * M_PI * uniform());
  }

 private:
  uint64_t key_;
  uint64_t at_ = 0;
};

// "lr-0.01-seed-7" as "lr-#-seed-#".
std::string without_numbers(const std::string& name) {
  std::string kept;
  for (char c : name) {
    bool is_number = (c >= '0' && c <= '9') ||
                     (c == '.' && !kept.empty() && kept.back() == '#');
    if (!is_number) {
      kept += c;
    } else if (kept.empty() || kept.back() != '#') {
      kept += '#';
    }
  }
  return kept;
}

}  // namespace

void describe(config::Section& s, DeviceGroup& group) {
  s.text("name", group.name, "What this kind is called");
  s.whole("count", group.count, "So many of them").min(1).max(1'000'000);
  s.number("speed", group.speed, "Work takes so much less time than at 1")
      .min(1e-6)
      .max(1e6);
}

void describe(config::Section& s, LoadConfig& load) {
  s.whole("jobs", load.jobs, "So many").min(1).max(10'000'000);
  s.whole("seed", load.seed, "Of what is drawn").min(0);
  s.number("hours", load.hours, "In which they arrive, evenly").min(0).max(1e5);
  s.number("median_s", load.median_s, "Half of them take less, on one device")
      .above(0)
      .max(1e8);
  s.number("sigma", load.sigma, "Deviation of the logarithm of their seconds")
      .min(0)
      .max(4);
  s.number("several", load.share_of_several,
           "Share of jobs that want 2, 4 or 8 devices")
      .min(0)
      .max(1);
  s.number("repeated", load.share_repeated,
           "Share of the others that are of a sweep")
      .min(0)
      .max(1);
}

void describe(config::Section& s, Cluster& cluster) {
  s.sections("devices", cluster.devices, "Groups of equal devices");
  s.number("quantum", cluster.quantum_s,
           "Seconds after which jobs may give way to others")
      .min(1e-3)
      .max(1e7);
  s.number("restart", cluster.restart_s,
           "Seconds that a job loses when it gave way")
      .min(0)
      .max(1e6);
  s.section("load", cluster.load,
            "Jobs that are drawn where no trace is given");
}

int64_t Cluster::num_devices() const {
  int64_t count = 0;
  for (const DeviceGroup& group : devices) count += group.count;
  return count;
}

int64_t Cluster::most_at_once() const {
  int64_t most = 0;
  for (const DeviceGroup& group : devices) most = std::max(most, group.count);
  return most;
}

std::vector<Device> Cluster::all_devices() const {
  std::vector<Device> all;
  for (const DeviceGroup& group : devices) {
    for (int64_t i = 0; i < group.count; ++i) {
      all.push_back({fmt::format("{}:{}", group.name, i), group.speed});
    }
  }
  return all;
}

Cluster parse_cluster(std::string_view text, const std::string& file) {
  auto cluster = config::read_file_text<Cluster>(text, "cluster", file);
  if (cluster.devices.empty()) {
    fail_usage(
        "[cluster] {}: expected `devices`\n"
        "HINT: write devices: [{{name: a100, count: 8}}]",
        printable(file));
  }
  return cluster;
}

std::vector<Job> draw_jobs(const LoadConfig& load, int64_t most) {
  constexpr int64_t kUsers = 40, kSweeps = 12;
  std::vector<Job> jobs;
  for (int64_t i = 0; i < load.jobs; ++i) {
    Draw draw(load.seed, i);
    Job job;
    auto arrival = draw.uniform() * load.hours * 3600;
    double seconds = load.median_s * std::exp(load.sigma * draw.normal());
    seconds = std::clamp(seconds, 1.0, 3e7);
    if (draw.uniform() < load.share_of_several) {
      auto wanted = int64_t{2} << static_cast<int>(3 * draw.uniform());
      job.num_devices = std::min(wanted, most);
    }
    auto user = static_cast<int64_t>(draw.uniform() * kUsers);
    bool is_repeated =
        job.num_devices == 1 && draw.uniform() < load.share_repeated;
    job.user = fmt::format("user-{}", user);
    job.name =
        is_repeated
            ? fmt::format("sweep-{}-{}",
                          static_cast<char>('a' + draw.uniform() * kSweeps), i)
            : fmt::format("job-{:c}{:c}{:c}-{}",
                          static_cast<char>('a' + i % 26),
                          static_cast<char>('a' + i / 26 % 26),
                          static_cast<char>('a' + i / 676 % 26), i);
    job.arrival_ns = std::llround(arrival * kNsPerS);
    job.units = {{.compute_ns = std::llround(seconds * kNsPerS)}};
    job.priority = std::floor(3 * draw.uniform());
    job.deadline_ns = job.arrival_ns + std::llround(seconds * kNsPerS *
                                                    (2 + 8 * draw.uniform()));
    jobs.push_back(std::move(job));
  }
  return jobs;
}

Fusing fuse_repeated(const std::vector<Job>& jobs, int64_t most,
                     double further) {
  std::map<std::pair<std::string, std::string>, std::vector<double>> alike;
  Fusing fusing;
  for (const Job& job : jobs) {
    double ns = static_cast<double>(job.work_ns()) *
                static_cast<double>(job.num_devices);
    fusing.device_ns += ns;
    if (job.num_devices > 1 || job.name.empty()) continue;
    alike[{job.user, without_numbers(job.name)}].push_back(ns);
  }
  for (auto& [name, times] : alike) {
    if (times.size() < 2) continue;
    fusing.num_repeated += std::ssize(times);
    // Long ones with long ones: an array takes as long as its longest.
    std::ranges::sort(times, std::ranges::greater{});
    auto size = static_cast<size_t>(most);
    for (size_t i = 0; i < times.size(); i += size) {
      size_t end = std::min(i + size, times.size());
      double alone = 0, together = times[i];
      for (size_t k = i; k < end; ++k) {
        alone += times[k];
        if (k > i) together += further * times[k];
      }
      fusing.repeated_ns += alone;
      fusing.saved_ns += std::max(0.0, alone - together);
    }
  }
  return fusing;
}

}  // namespace braid::schedule
