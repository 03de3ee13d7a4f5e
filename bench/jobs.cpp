// Jobs that do not fit, on one device: one after another and in turns. All of
// its copies go over a bus that is throttled to a known rate, so that what they
// take together is known; a row for each way, with the seconds until all have
// ended beside the greater of what the device computed and what its bus was
// busy, and beside what was predicted.
//
//   build/bench/jobs JOB.yaml [JOBS] [STEPS]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "braid/runtime/cpu_backend.h"
#include "braid/train/job/job_file.h"
#include "braid/train/jobs/orchestrator.h"
#include "braid/train/jobs/work_plans.h"
#include "braid/train/run/time_run.h"

namespace braid {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// One copy at a time, each for as long as its bytes take.
class Bus {
 public:
  void set_rate(double bytes_per_s) { rate_ = bytes_per_s; }
  void pass(int64_t bytes) {
    if (rate_ <= 0) return;
    auto takes = std::chrono::duration_cast<Clock::duration>(
        Seconds(static_cast<double>(bytes) / rate_));
    std::unique_lock lock(mutex_);
    free_at_ = std::max(Clock::now(), free_at_) + takes;
    busy_s_ += Seconds(takes).count();
    Clock::time_point until = free_at_;
    lock.unlock();
    std::this_thread::sleep_until(until);
  }
  double take_busy_s() {
    std::lock_guard lock(mutex_);
    return std::exchange(busy_s_, 0);
  }

 private:
  std::mutex mutex_;
  double rate_ = 0, busy_s_ = 0;
  Clock::time_point free_at_ = {};
};

class BusMachine : public runtime::Machine {
 public:
  const OpTable& ops() const override { return machine_->ops(); }
  const ForeignOps& foreign() const override { return machine_->foreign(); }
  std::vector<plan::DeviceInfo> devices() const override {
    return machine_->devices();
  }
  std::unique_ptr<runtime::Backend> open(
      DeviceId device, const runtime::Budget& budget) const override {
    return std::make_unique<runtime::CpuBackend>(
        kernels_,
        runtime::CpuOptions{.limit_bytes = budget.bytes,
                            .before_copy = [this](int64_t n) { bus_.pass(n); },
                            .index = device.index,
                            .cores = std::max(budget.cores, 1),
                            .seat = budget.seat});
  }
  Bus& bus() const { return bus_; }

 private:
  std::unique_ptr<runtime::Machine> machine_ = runtime::this_machine();
  runtime::KernelTable kernels_ = runtime::cpu_kernels();
  mutable Bus bus_;
};

struct Way {
  const char* name;
  int at_once = 1;
  std::optional<int64_t> depth = {};
};

struct Result {
  double seconds = 0, compute_s = 0, bus_s = 0, predicted_s = 0;
  int64_t bytes = 0;
};

class Bench {
 public:
  Bench(const char* path, int64_t jobs, int64_t steps)
      : config_(train::read_job(path)), num_jobs_(jobs) {
    config_.steps = steps;
    config_.threads = 1;
    train::Job job(machine_, config_);
    train::complete_profile({&job}, profile_);
    train::Run run(job, {.profile = profile_});
    need_ = run.programs().peak_bytes();
    step_s_ = run.programs().set().step_s;
  }

  // A bus over which what leaves under that limit takes about as long as the
  // device computes.
  void set_bus(double share) {
    limit_ = need_ / 4;
    train::JobDevices devices = shared(2);
    for (int i = 0; i < 3; ++i) {
      train::WorkPlan plan = plan_with(devices, rate_).front();
      double bytes = plan.transfer_s * rate_;
      if (bytes == 0) break;  // nothing leaves, however fast the bus
      rate_ = bytes / (share * plan.compute_s);
    }
    machine_.bus().set_rate(rate_);
  }

  Result run(const Way& way) {
    train::JobDevices devices = shared(way.at_once);
    config_.plan.depth = way.depth;
    std::vector<std::unique_ptr<train::Job>> jobs;
    train::JobArrays arrays;
    for (int64_t i = 0; i < num_jobs_; ++i) {
      train::JobConfig own = config_;
      own.seed = i;
      jobs.push_back(std::make_unique<train::Job>(machine_, own));
      arrays.push_back({jobs.back().get()});
    }
    compile::ProgramCache programs;
    plan::Profile profile = with_bus(rate_);
    std::vector<train::WorkPlan> plans =
        train::plan_works(arrays, devices, way.at_once, profile, programs);
    Result result{
        .predicted_s = train::predict_span(plans, 1, way.at_once).seconds,
        .bytes = plans[0].peak_bytes};
    std::vector<train::Work> works;
    for (int64_t i = 0; i < num_jobs_; ++i) {
      works.push_back(work(*jobs[static_cast<size_t>(i)], devices, way.at_once,
                           profile, programs));
    }
    auto policy = schedule::make_policy("fifo");
    machine_.bus().take_busy_s();
    train::Orchestrator orchestrator(std::move(works), *policy,
                                     {.devices = devices});
    auto begin = Clock::now();
    orchestrator.run();
    result.seconds = Seconds(Clock::now() - begin).count();
    result.compute_s = orchestrator.devices()[0].times.busy_s;
    result.bus_s = machine_.bus().take_busy_s();
    return result;
  }

  void print_head() const {
    fmt::print(
        "{} jobs of {:.1f} MiB, of {} steps of {:.1f} ms without a limit; "
        "{:.1f} "
        "MiB for all of them, copies at {:.0f} MB/s\n\n",
        num_jobs_, double(need_) / (1 << 20), *config_.steps, 1e3 * step_s_,
        double(limit_) / (1 << 20), rate_ / 1e6);
  }

 private:
  train::JobDevices shared(int at_once) const {
    return {.ids = {DeviceId{}}, .memory_limit = limit_, .at_once = at_once};
  }

  plan::Profile with_bus(double bytes_per_s) const {
    plan::Profile profile = profile_;
    plan::DeviceInfo device = machine_.devices()[0];
    const plan::DeviceInfo* known = profile.device(device.id.kind);
    plan::Rates rates = known ? known->rates : device.rates;
    rates.compute_lost_to_copies *= bytes_per_s / rates.to_device_bytes_per_s;
    rates.to_device_bytes_per_s = rates.to_host_bytes_per_s = bytes_per_s;
    rates.one_bus = true;
    profile.set_device(plan::with_rates(device, rates));
    return profile;
  }

  std::vector<train::WorkPlan> plan_with(const train::JobDevices& devices,
                                         double rate) {
    train::Job job(machine_, config_);
    compile::ProgramCache programs;
    return train::plan_works({{&job}}, devices, devices.at_once, with_bus(rate),
                             programs);
  }

  static train::Work work(const train::Job& job,
                          const train::JobDevices& devices, int at_once,
                          const plan::Profile& profile,
                          compile::ProgramCache& programs) {
    return {.name = "job",
            .steps = job.num_steps(),
            .open =
                [&job, devices, at_once](std::optional<DeviceId> device,
                                         runtime::Budget budget) {
                  runtime::Budget own =
                      train::shared_budget(job, devices, at_once);
                  own.seat = budget.seat;
                  return job.machine().open(*device, own);
                },
            .begin =
                [&job, &profile, &programs](runtime::Backend& device) {
                  std::vector<train::RunMember> members = {
                      {.name = "job", .job = &job}};
                  return std::make_unique<train::Run>(
                      members, train::RunOptions{.device = &device,
                                                 .programs = &programs,
                                                 .alone = true,
                                                 .profile = profile});
                },
            .end =
                [](train::Run*, const std::exception_ptr& error) {
                  if (error) std::rethrow_exception(error);
                }};
  }

  BusMachine machine_;
  train::JobConfig config_;
  int64_t num_jobs_;
  plan::Profile profile_;
  int64_t need_ = 0, limit_ = 0;
  double step_s_ = 0, rate_ = 2e9;
};

void compare(Bench& bench) {
  bench.print_head();
  fmt::print("{:<28} {:>8} {:>10} {:>8} {:>12} {:>8} {:>10} {:>14}\n", "",
             "seconds", "computing", "bus", "of greatest", "MiB", "of best",
             "of prediction");
  const Way ways[] = {{"one after another, depth 0", 1, 0},
                      {"one after another", 1},
                      {"two at once", 2},
                      {"three at once", 3}};
  std::vector<Result> results;
  double best = 1e300;
  for (const Way& way : ways) {
    results.push_back(bench.run(way));
    best = std::min(best, results.back().seconds);
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const Result& r = results[i];
    fmt::print(
        "{:<28} {:>8.2f} {:>10.2f} {:>8.2f} {:>12.3f} {:>8.1f} {:>10.2f} "
        "{:>14.3f}\n",
        ways[i].name, r.seconds, r.compute_s, r.bus_s,
        r.seconds / std::max(r.compute_s, r.bus_s), double(r.bytes) / (1 << 20),
        r.seconds / best, r.seconds / r.predicted_s);
  }
}

}  // namespace
}  // namespace braid

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print("usage: jobs JOB.yaml [JOBS] [STEPS]\n");
    return 2;
  }
  braid::Bench bench(argv[1], argc > 2 ? std::atoll(argv[2]) : 12,
                     argc > 3 ? std::atoll(argv[3]) : 6);
  bench.set_bus(0.9);
  braid::compare(bench);
}
