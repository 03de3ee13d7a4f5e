// Whether copies hide behind computing: a training whose activations and
// parameters all leave the device, over links throttled to known rates. A row
// for each rate and depth: seconds of a step, beside the greater of what the
// step computes (measured with everything kept) and what its copies take each
// way, and beside what the plan said.
//
//   build/bench/overlap JOB.yaml [STEPS]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "braid/runtime/cpu_backend.h"
#include "braid/runtime/machine.h"
#include "braid/train/job/job_file.h"
#include "braid/train/run/run.h"
#include "braid/train/run/time_run.h"

namespace braid {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double median(std::vector<double> numbers) {
  std::ranges::sort(numbers);
  return numbers[numbers.size() / 2];
}

// A link: each copy lasts as long as its bytes take at the rate, whatever the
// memory of this machine does.
runtime::CpuOptions throttled(double bytes_per_s) {
  runtime::CpuOptions options;
  options.before_copy = [bytes_per_s](int64_t bytes) {
    double copied_s = static_cast<double>(bytes) / 8e9;  // by memcpy, after it
    double all_s = static_cast<double>(bytes) / bytes_per_s;
    std::this_thread::sleep_for(
        std::chrono::duration<double>(std::max(0.0, all_s - copied_s)));
  };
  return options;
}

struct Sums {
  double in = 0, out = 0;  // bytes of a step
};

Sums copied(const plan::Program& program) {
  Sums sums;
  for (size_t i = 0; i < program.units.size(); ++i) {
    const plan::Unit& unit = program.units[i];
    auto times = static_cast<double>(
        i < program.num_micro_units() ? program.num_passes() : 1);
    sums.in += times * static_cast<double>(unit.bytes_in);
    sums.out += times * static_cast<double>(unit.bytes_out);
  }
  return sums;
}

// Steps of a job under a plan, on a device of its own.
class Steps {
 public:
  Steps(const train::Job& job, const plan::Decision& decision, int depth,
        runtime::CpuOptions device, const plan::Profile& profile)
      : kernels_(runtime::cpu_kernels()), backend_(kernels_, device) {
    plan::NamedPlan named;
    named.segments.push_back(
        {.segment = std::string(plan::kOtherSegments), .decision = decision});
    named.depth = depth;
    named.order = plan::Order::kMicroBatches;
    named.buffer_bytes = kNoLimit;
    train::RunOptions options;
    options.device = &backend_;
    options.plan = compile::PlanRequest{.named = named, .fit_to_limit = false};
    options.profile = profile;
    run_ = std::make_unique<train::Run>(job, std::move(options));
    run_->tick();
  }

  double seconds() {
    auto begin = Clock::now();
    run_->tick();
    backend_.synchronize();
    return seconds_since(begin);
  }
  const compile::ProgramSet& set() { return run_->programs().set(); }

 private:
  runtime::KernelTable kernels_;
  runtime::CpuBackend backend_;
  std::unique_ptr<train::Run> run_;
};

plan::Profile with_links(plan::Profile profile, const plan::DeviceInfo& device,
                         double bytes_per_s) {
  const plan::DeviceInfo* known = profile.device(device.id.kind);
  plan::Rates rates = known ? known->rates : device.rates;
  // What a copy takes from computing are its bytes, however long they last.
  rates.compute_lost_to_copies *= bytes_per_s / rates.to_device_bytes_per_s;
  rates.to_device_bytes_per_s = rates.to_host_bytes_per_s = bytes_per_s;
  rates.one_bus = false;
  profile.set_device(plan::with_rates(device, rates));
  return profile;
}

void compare(const train::Job& job, int num_steps) {
  plan::Profile profile;
  train::complete_profile({&job}, profile);
  plan::DeviceInfo device = job.machine().devices()[0];
  const plan::Decision kept = {};
  const plan::Decision away = {.activations = plan::Activations::kOffload,
                               .parameters = plan::Parameters::kSpilled};
  Steps free(job, kept, 0, {}, profile);
  Sums bytes = copied(Steps(job, away, 1, {}, profile).set().programs[0]);
  double most = std::max(bytes.in, bytes.out);
  std::vector<double> warm;
  for (int i = 0; i < num_steps; ++i) warm.push_back(free.seconds());
  double compute_s = median(warm);
  fmt::print(
      "computing {:.1f} ms, predicted {:.1f} ms; {:.1f} MB in, {:.1f} MB "
      "out\n\n",
      1e3 * compute_s, 1e3 * free.set().step_s, bytes.in / 1e6,
      bytes.out / 1e6);
  fmt::print("{:>8} {:>9} {:>6} {:>9} {:>9} {:>12} {:>16} {:>15}\n", "copies",
             "MB/s", "depth", "step ms", "kept ms", "of greatest",
             "predicted ms", "of prediction");
  for (double share : {0.5, 0.8, 1.5}) {
    double rate = most / (share * compute_s);
    plan::Profile links = with_links(profile, device, rate);
    for (int depth : {0, 1, 2, 4}) {
      Steps steps(job, away, depth, throttled(rate), links);
      std::vector<double> own, beside;
      for (int i = 0; i < num_steps; ++i) {
        own.push_back(steps.seconds());
        beside.push_back(free.seconds());
      }
      double step_s = median(own), kept_s = median(beside);
      double predicted_s = steps.set().step_s;
      fmt::print(
          "{:>7.2f}x {:>9.0f} {:>6} {:>9.1f} {:>9.1f} {:>12.3f} {:>16.1f} "
          "{:>15.3f}\n",
          share, rate / 1e6, depth, 1e3 * step_s, 1e3 * kept_s,
          step_s / std::max(kept_s, most / rate), 1e3 * predicted_s,
          step_s / predicted_s);
      std::fflush(stdout);
    }
  }
}

}  // namespace
}  // namespace braid

int main(int argc, char** argv) {
  using namespace braid;
  if (argc < 2) {
    fmt::print(stderr, "usage: overlap JOB.yaml [STEPS]\n");
    return 2;
  }
  auto machine = runtime::this_machine();
  train::Job job(*machine, train::read_job(argv[1]));
  compare(job, argc > 2 ? std::atoi(argv[2]) : 9);
}
