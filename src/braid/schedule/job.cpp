#include "braid/schedule/job.h"

#include <algorithm>
#include <cmath>

#include "braid/base/error.h"
#include "braid/base/printable.h"

namespace braid::schedule {
namespace {

// Times stay below this: 36 years.
constexpr double kMostNs = 1LL << 60;

std::string job_text(const std::vector<Job>& jobs, size_t number) {
  const std::string& name = jobs[number].name;
  return name.empty() ? fmt::format("job {}", number + 1)
                      : fmt::format("'{}'", printable(name, 60));
}

void check_job(const std::vector<Job>& jobs, size_t number) {
  const Job& job = jobs[number];
  auto fail = [&](const char* expected) {
    fail_usage("[schedule] {}: expected {}", job_text(jobs, number), expected);
  };
  if (job.units.empty()) fail("at least one unit");
  if (job.num_steps < 1) fail("at least one step");
  if (job.num_devices < 1) fail("at least one device");
  if (job.arrival_ns < 0) fail("an arrival at 0 or later");
  if (job.steps_per_epoch < 0) fail("0 steps or more in an epoch");
  if (!std::isfinite(job.priority)) fail("a priority that is a number");
  for (const Unit& unit : job.units) {
    int64_t least = std::min({unit.compute_ns, unit.in_ns, unit.out_ns});
    if (least < 0) fail("times of at least 0");
  }
}

void check_devices(const std::vector<Device>& devices) {
  if (devices.empty()) fail_usage("[schedule] expected at least one device");
  for (const Device& device : devices) {
    if (device.speed >= 1e-6 && device.speed <= 1e6) continue;
    fail_usage("[schedule] expected a speed of 1e-6 to 1e6 of '{}', got {}",
               printable(device.name, 60), device.speed);
  }
}

}  // namespace

int64_t Job::num_units() const { return num_steps * std::ssize(units); }

int64_t Job::step_ns() const {
  int64_t sum = 0;
  for (const Unit& unit : units) sum += unit.compute_ns;
  return sum;
}

int64_t Job::work_ns() const { return num_steps * step_ns(); }

int64_t Job::copies_ns() const {
  int64_t in = 0, out = 0;
  for (const Unit& unit : units) {
    in += unit.in_ns;
    out += unit.out_ns;
  }
  return num_steps * std::max(in, out);
}

int64_t ns_at(double speed, int64_t work_ns) {
  if (speed == 1) return work_ns;
  return static_cast<int64_t>(std::ceil(static_cast<double>(work_ns) / speed));
}

int64_t least_makespan_ns(const std::vector<Job>& jobs,
                          const std::vector<Device>& devices) {
  double speed = 0, fastest = 0;
  for (const Device& device : devices) {
    speed += device.speed;
    fastest = std::max(fastest, device.speed);
  }
  std::vector<const Job*> order;
  for (const Job& job : jobs) order.push_back(&job);
  std::ranges::stable_sort(order, std::ranges::greater{}, &Job::arrival_ns);
  int64_t first = kNever, least = 0;
  double work = 0, copies = 0;
  for (const Job* job : order) {
    int64_t arrival = job->arrival_ns;
    first = std::min(first, arrival);
    work += static_cast<double>(job->work_ns()) *
            static_cast<double>(job->num_devices);
    copies += static_cast<double>(job->copies_ns());
    double shared =
        std::max(work / speed, copies / static_cast<double>(devices.size()));
    least = std::max({least, arrival + static_cast<int64_t>(shared),
                      arrival + ns_at(fastest, job->work_ns())});
  }
  return order.empty() ? 0 : least - first;
}

void check_jobs(const std::vector<Job>& jobs,
                const std::vector<Device>& devices) {
  check_devices(devices);
  double slowest = std::ranges::min(devices, {}, &Device::speed).speed;
  double speed = 0, all = 0;
  for (const Device& device : devices) speed += device.speed;
  for (size_t i = 0; i < jobs.size(); ++i) {
    check_job(jobs, i);
    const Job& job = jobs[i];
    double step = 0;
    for (const Unit& unit : job.units) {
      step += static_cast<double>(unit.compute_ns) / slowest +
              static_cast<double>(unit.in_ns) +
              static_cast<double>(unit.out_ns);
    }
    double work = step * static_cast<double>(job.num_steps);
    all += work * slowest / speed * static_cast<double>(job.num_devices);
    bool is_short =
        work + static_cast<double>(job.arrival_ns) <= kMostNs && all <= kMostNs;
    if (is_short) continue;
    fail_usage(
        "[schedule] {}: expected at most 36 years until it is done with those "
        "before it",
        job_text(jobs, i));
  }
}

}  // namespace braid::schedule
