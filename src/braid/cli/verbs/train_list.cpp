#include "braid/cli/verbs/train_list.h"

#include <sys/resource.h>

#include <algorithm>
#include <map>

#include "braid/base/error.h"
#include "braid/cli/display/array_display.h"
#include "braid/cli/display/sharing_words.h"
#include "braid/cli/output.h"
#include "braid/cli/profile_file.h"
#include "braid/cli/signals.h"
#include "braid/cli/verbs/verb.h"
#include "braid/runtime/machine.h"
#include "braid/train/array/array_plans.h"
#include "braid/train/queue/queue_folder.h"
#include "braid/train/run/list_run.h"
#include "braid/train/run/threads.h"
#include "braid/train/run/time_run.h"

namespace braid::cli {
namespace {

// Every member has files of its own.
void allow_many_files() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

std::vector<JobResult> results_of(const train::ListRun& run,
                                  const std::string& out) {
  std::vector<JobResult> results;
  for (const train::MemberReport& member : run.report().members) {
    JobResult result{.name = member.name,
                     .state = member.state,
                     .steps = member.step,
                     .metrics = member.evaluation,
                     .folder = out + "/" + member.name,
                     .best = member.best,
                     .raw = member.raw_evaluation,
                     .is_error = member.is_error};
    if (result.metrics.empty() && member.loss) {
      result.metrics.emplace_back("loss", *member.loss);
    }
    results.push_back(std::move(result));
  }
  return results;
}

// What kept jobs from ending; whether there was anything.
bool print_failures(const train::ListRun& run) {
  // Equal jobs fail for equal reasons.
  std::map<std::string, std::vector<size_t>> errors;
  for (const train::ArrayFailure& failure : run.errors()) {
    auto& jobs = errors[failure.error.message()];
    jobs.insert(jobs.end(), failure.jobs.begin(), failure.jobs.end());
  }
  for (const auto& [message, jobs] : errors) {
    std::string name = run.folder().jobs[jobs[0]].name;
    if (jobs.size() > 1) name += fmt::format(" and {} more", jobs.size() - 1);
    print_error("[braid train] {}: {}\n", name, message);
  }
  bool has_failed = false;
  for (size_t i = 0; i < run.failures().size(); ++i) {
    if (run.failures()[i].empty()) continue;
    print_error("[braid train] {}: {}\n", run.folder().jobs[i].name,
                run.failures()[i]);
    has_failed = true;
  }
  if (has_failed) {
    print_error(
        "HINT: lower the learning rate, clip gradients, or set "
        "'on_nan: skip' where single steps fail\n");
  }
  return has_failed || !run.errors().empty();
}

int run_list(const runtime::Machine& machine, const TrainListOptions& o,
             plan::Profile profile,
             const std::optional<train::JobDevices>& devices = {}) {
  allow_many_files();
  ArrayDisplay display({.quiet = o.log.quiet, .shown = o.log.shown()});
  std::string stopped = fmt::format(
      "[braid train] stopped; everything is saved\n"
      "HINT: 'braid resume {}' goes on from there\n",
      o.out);
  auto preparing = [&] { return std::make_shared<StopAtOnce>(stopped); };
  auto opening = preparing();
  train::ListRun run(
      machine, o.out,
      {.stop = stop_requested,
       .preparing = preparing,
       .listener = &display,
       .profile = &profile,
       .logs_passes = o.log.verbose,
       .trace = o.trace,
       .overrides = o.overrides,
       .devices = devices,
       .planned = [&](const auto& sharing, const train::JobDevices& shared) {
         if (!o.log.quiet) {
           print("{}\n", sharing_words(sharing, shared));
         }
       }});
  opening.reset();
  train::Ending ending = run.run();
  if (!o.profile.empty()) {
    write_profile(o.profile, profile);
  }
  if (ending == train::Ending::kInterrupted) {
    display.finish();
    print_error("{}", stopped);
    return kInterrupted;
  }
  display.done(results_of(run, o.out), o.out);
  return print_failures(run) ? kFailed : kOk;
}

void check_same_jobs(train::JobList list, const std::string& out) {
  train::JobFolder folder = train::read_job_folder(out);
  train::fit_to_devices(list.jobs, folder.devices);
  for (train::NamedJob& job : list.jobs) {
    train::resolve_data_paths(job.config);
  }
  if (list.jobs == folder.jobs) return;
  fail_usage(
      "[braid train] '{}' holds other jobs\n"
      "HINT: 'braid resume {}' goes on with those",
      out, out);
}

// Jobs that leave threads open have those of this machine, so that their bits
// are the same wherever they train.
void fit_to_workers(const TrainListOptions& o,
                    std::vector<train::NamedJob>& jobs) {
  bool has_devices = !o.devices.devices.empty() || !o.devices.policy.empty() ||
                     !o.devices.memory_limit.empty() || o.devices.at_once ||
                     o.devices.quantum || o.devices.seed;
  if (has_devices) {
    fail_usage(
        "[braid train] --queue: what devices there are is said by their "
        "workers\n"
        "HINT: 'braid worker {} --device cuda:1 --memory-limit 2GiB'",
        o.out);
  }
  if (o.queue < 0) {
    fail_usage("[braid train] --queue: expected 1 or more workers, got {}",
               o.queue);
  }
  constexpr double kLeast = 0.5, kMost = 3600;
  if (o.lease_s && !(*o.lease_s >= kLeast && *o.lease_s <= kMost)) {
    fail_usage("[braid train] --lease: expected {} to {} seconds, got {}",
               kLeast, kMost, *o.lease_s);
  }
  for (train::NamedJob& job : jobs) {
    if (job.config.threads == 0) {
      job.config.threads = train::thread_count(0, "job");
    }
  }
}

int leave_to_workers(const TrainListOptions& o,
                     const train::JobFolder& folder) {
  train::create_queue(o.out, o.lease_s.value_or(train::QueueConfig().lease_s));
  if (!o.log.quiet) {
    print(
        "queue  {} jobs in {} arrays wait in {}\n"
        "HINT: 'braid worker {} --store' on one host, 'braid worker {}' on "
        "each\n",
        folder.jobs.size(), folder.arrays.size(), o.out, o.out, o.out);
  }
  return kOk;
}

}  // namespace

int train_list(train::JobList list, const TrainListOptions& o) {
  watch_stop_signals();
  auto machine = runtime::this_machine();
  plan::Profile profile = read_profile(o.profile);
  if (o.queue == 0 && o.resume && train::holds_jobs(o.out)) {
    check_same_jobs(std::move(list), o.out);
    return run_list(*machine, o, std::move(profile));
  }
  train::check_free_for_jobs(o.out);
  std::optional<StopAtOnce> planning(
      std::in_place,
      "[braid train] stopped before the first step; there is nothing to "
      "save\n");
  bool is_taken_again = train::holds_jobs(o.out);
  train::JobFolder folder;
  auto num_devices = static_cast<int>(o.queue);
  if (o.queue != 0) {
    fit_to_workers(o, list.jobs);
  } else {
    folder.devices = devices_of(o.devices, "braid train", list.jobs, *machine);
    train::fit_to_devices(list.jobs, folder.devices);
    num_devices = static_cast<int>(folder.devices.ids.size());
  }
  train::ArrayPlans plans =
      train::plan_arrays(*machine, list.jobs,
                         {.profile = profile,
                          .devices = std::max(num_devices, 1),
                          .arrays = o.devices.has_arrays()});
  if (!o.profile.empty()) {
    train::time_arrays(*machine, list.jobs, plans, profile);
    train::time_calls(*machine, list.jobs, plans, profile);
    folder.profile = profile;
  }
  for (const train::ArrayPlan& plan : plans.arrays) {
    folder.arrays.push_back(plan.jobs);
  }
  folder.jobs = std::move(list.jobs);
  for (train::NamedJob& job : folder.jobs) {
    train::resolve_data_paths(job.config);
  }
  planning.reset();
  train::create_job_folder(o.out, folder);
  if (o.queue != 0) return leave_to_workers(o, folder);
  if (is_taken_again && !o.log.quiet) {
    print("no checkpoint was saved of the jobs in '{}': they begin anew\n",
          o.out);
  }
  return run_list(*machine, o, std::move(profile));
}

int resume_list(const TrainListOptions& o) {
  watch_stop_signals();
  auto machine = runtime::this_machine();
  std::optional<train::JobDevices> devices;
  if (o.devices.is_any()) {
    if (!o.devices.arrays.empty()) {
      fail_usage(
          "[braid resume] --arrays: which jobs train together stays as it was");
    }
    train::JobFolder folder = train::read_job_folder(o.out);
    devices = devices_of(o.devices, "braid resume", folder.jobs, *machine,
                         folder.devices);
  }
  return run_list(*machine, o, read_profile(o.profile), devices);
}

}  // namespace braid::cli
