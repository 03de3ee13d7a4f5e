#include "braid/train/run/time_run.h"

#include <algorithm>

#include "braid/plan/durations.h"
#include "braid/runtime/measure_rates.h"
#include "braid/train/job/model_file.h"
#include "braid/train/run/dataset_cache.h"

namespace braid::train {
namespace {

constexpr int64_t kSteps = 5;  // after one that warms up

double median(std::vector<double> numbers) {
  auto middle = numbers.begin() + std::ssize(numbers) / 2;
  std::ranges::nth_element(numbers, middle);
  return *middle;
}

// The calls of one program of a run.
class ProgramTimes {
 public:
  ProgramTimes(runtime::Executor& executor, const OpTable& ops,
               const plan::DeviceInfo& device, int threads)
      : executor_(executor),
        ops_(ops),
        device_(device),
        threads_(threads),
        seconds_(program().calls.size()),
        runs_(program().calls.size(), 0),
        kinds_(program().calls.size(), device.id.kind) {
    for (size_t i = 0; i < program().instructions.size(); ++i) {
      const plan::Instruction& instruction = program().instructions[i];
      if (instruction.call == kNone) continue;
      auto call = static_cast<size_t>(instruction.call);
      bool repeats = static_cast<int32_t>(i) < program().update_begin;
      runs_[call] = repeats ? program().num_passes() : 1;
      if (instruction.stream == plan::Stream::kHostUpdate) {
        kinds_[call] = DeviceKind::kCpu;
      }
      moves_ = moves_ || instruction.stream != plan::Stream::kCompute;
    }
  }

  int64_t count_unknown(const plan::Profile& profile) const {
    int64_t count = 0;
    for (size_t i = 0; i < runs_.size(); ++i) {
      if (runs_[i] == 0) continue;
      count += !profile.find(plan::Measured::kCall, key(i));
    }
    return count;
  }

  void begin_step() {
    before_ = executor_.num_steps();
    step_.assign(step_.size(), 0);
    executor_.time_calls(&step_);
  }

  void end_step() {
    executor_.time_calls(nullptr);
    auto steps = static_cast<double>(executor_.num_steps() - before_);
    for (size_t i = 0; steps > 0 && i < step_.size(); ++i) {
      if (runs_[i] == 0) continue;
      auto times = steps * static_cast<double>(runs_[i]);
      seconds_[i].push_back(step_[i] / times);
    }
  }

  // Calls of one key have their mean.
  void add_to(plan::Profile& profile, std::map<std::string, double>& measured,
              std::map<std::string, double>& expected) const {
    std::map<std::string, std::vector<double>> of_key;
    for (size_t i = 0; i < seconds_.size(); ++i) {
      if (seconds_[i].empty()) continue;
      double seconds = median(seconds_[i]);
      of_key[key(i)].push_back(seconds);
      double arithmetic =
          plan::arithmetic_s(ops_, device_.rates, program().graph, node(i));
      for (const std::string& name : {node(i).op->name, std::string()}) {
        std::string op = plan::operator_key(kinds_[i], threads_, name);
        measured[op] += seconds;
        expected[op] += arithmetic;
      }
    }
    add_workspaces(profile);
    for (const auto& [name, all] : of_key) {
      double sum = 0;
      for (double seconds : all) sum += seconds;
      profile.set(plan::Measured::kCall, name,
                  sum / static_cast<double>(all.size()));
    }
  }

  bool has_run() const {
    return std::ranges::any_of(seconds_,
                               [](const auto& s) { return !s.empty(); });
  }
  // Whether anything but the compute stream has work.
  bool moves() const { return moves_; }
  // Of all calls of a step, as the profile will have them.
  double in_calls_s() const {
    double sum = 0;
    for (size_t i = 0; i < seconds_.size(); ++i) {
      if (seconds_[i].empty()) continue;
      sum += median(seconds_[i]) * static_cast<double>(runs_[i]);
    }
    return sum;
  }
  int64_t runs() const {
    int64_t sum = 0;
    for (int64_t runs : runs_) sum += runs;
    return sum;
  }

 private:
  void add_workspaces(plan::Profile& profile) const {
    for (size_t i = 0; i < seconds_.size(); ++i) {
      int32_t workspace = program().calls[i].workspace;
      if (seconds_[i].empty() || workspace == kNone) continue;
      auto bytes = program().allocation(workspace).bytes;
      profile.set(plan::Measured::kWorkspace, key(i),
                  static_cast<double>(bytes));
    }
  }

  const plan::Program& program() const { return executor_.program(); }
  const Node& node(size_t call) const {
    return program().graph.node(program().calls[call].node);
  }
  std::string key(size_t call) const {
    return plan::call_key(kinds_[call], threads_, program().graph, node(call));
  }

  runtime::Executor& executor_;
  const OpTable& ops_;
  plan::DeviceInfo device_;
  int threads_;
  std::vector<std::vector<double>> seconds_;  // by call, by step
  std::vector<int64_t> runs_;                 // by call, in a step
  std::vector<DeviceKind> kinds_;             // by call
  bool moves_ = false;
  int64_t before_ = 0;
  std::vector<double> step_;  // by call, of the step under way
};

// With the rates of the profile, where there are some.
plan::DeviceInfo device_of(const Run& run, const plan::Profile& profile) {
  plan::DeviceInfo info = run.device().info();
  const plan::DeviceInfo* known = profile.device(info.id.kind);
  return known ? plan::with_rates(info, known->rates) : info;
}

// What a step takes beside its calls: a part for each of them.
void set_call_s(const Run& run, const std::vector<ProgramTimes>& times,
                double step_s, plan::Profile& profile) {
  const ProgramTimes* only = nullptr;
  for (const ProgramTimes& t : times) {
    if (!t.has_run()) continue;
    if (only || t.moves()) return;
    only = &t;
  }
  if (!only || only->runs() == 0) return;
  plan::DeviceInfo device = device_of(run, profile);
  device.rates.call_s = std::max(0.0, step_s - only->in_calls_s()) /
                        static_cast<double>(only->runs());
  profile.set_device(device);
}

}  // namespace

TimedRun time_run(Run& run, plan::Profile& profile) {
  const Job& job = run.members()[0]->job();
  const OpTable& ops = job.machine().ops();
  plan::DeviceInfo device = device_of(run, profile);
  std::vector<ProgramTimes> times;
  TimedRun timed;
  for (size_t i = 0; i < run.programs().size(); ++i) {
    times.emplace_back(run.programs().executor(i), ops, device, job.threads());
  }
  timed.calls = times[0].count_unknown(profile);
  if (timed.calls == 0 || !run.tick()) return {};
  std::vector<double> step_s;
  bool goes_on = true;
  while (goes_on && timed.steps < kSteps) {
    for (ProgramTimes& program : times) program.begin_step();
    double before = run.stepping_s();
    goes_on = run.tick();
    for (ProgramTimes& program : times) program.end_step();
    if (!goes_on) break;
    step_s.push_back(run.stepping_s() - before);
    ++timed.steps;
  }
  if (timed.steps == 0) return {};
  std::map<std::string, double> measured, expected;
  for (const ProgramTimes& program : times) {
    program.add_to(profile, measured, expected);
  }
  for (const auto& [op, sum] : measured) {
    if (expected[op] <= 0) continue;
    profile.set(plan::Measured::kOperator, op, sum / expected[op]);
  }
  set_call_s(run, times, median(step_s), profile);
  return timed;
}

TimedRun complete_profile(const std::vector<const Job*>& jobs,
                          plan::Profile& profile, RunOptions options) {
  const Job& first = *jobs[0];
  if (!profile.device(first.device().kind)) {
    auto backend = first.open_device();
    profile.set_device(plan::with_rates(
        backend->info(),
        measure_rates(first.machine().ops(), *backend,
                      {.threads = first.threads(),
                       .spill_dir = first.config().spill_dir})));
  }
  options.profile = profile;
  options.plans_again = false;
  if (jobs.size() == 1) {
    Run run(first, std::move(options));
    return time_run(run, profile);
  }
  std::vector<RunMember> members;
  for (const Job* job : jobs) members.push_back({.name = "", .job = job});
  Run run(members, std::move(options));
  return time_run(run, profile);
}

void time_calls(const runtime::Machine& machine,
                const std::vector<NamedJob>& jobs, const ArrayPlans& plans,
                plan::Profile& profile) {
  DatasetCache datasets;
  ModelFiles models(machine);
  for (const ArrayPlan& array : plans.arrays) {
    const JobConfig& first = jobs[array.jobs[0]].config;
    if (!array.fits || (!first.memory_limit && !first.host_limit)) continue;
    std::vector<std::unique_ptr<Job>> opened;
    std::vector<const Job*> members;
    for (size_t number : array.jobs) {
      opened.push_back(std::make_unique<Job>(
          machine, jobs[number].config,
          JobHooks{.datasets = &datasets, .models = &models}));
      members.push_back(opened.back().get());
    }
    complete_profile(members, profile);
  }
}

std::string timed_words(const TimedRun& timed, const std::string& file) {
  return fmt::format("profile {} calls were measured in {} step{}: {}",
                     timed.calls, timed.steps, timed.steps == 1 ? "" : "s",
                     file);
}

}  // namespace braid::train
