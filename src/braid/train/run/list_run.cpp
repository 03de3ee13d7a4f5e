#include "braid/train/run/list_run.h"

#include <fmt/ranges.h>

#include "braid/base/error.h"
#include "braid/train/array/grouping.h"
#include "braid/train/job/job_changes.h"
#include "braid/train/job/job_file.h"
#include "braid/train/job/job_names.h"
#include "braid/train/job/job_signature.h"
#include "braid/train/run/changed_job.h"
#include "braid/train/run/read_results.h"

namespace braid::train {

ListRun::ListRun(const runtime::Machine& machine, std::filesystem::path out,
                 ListRunOptions options)
    : out_(std::move(out)),
      options_(std::move(options)),
      lock_(out_),
      folder_(read_job_folder(out_)),
      models_(machine),
      failures_(folder_.jobs.size()) {
  io::remove_temporary_files(out_);
  read_own_configs();
  if (!options_.overrides.empty()) change_jobs();
  std::vector<JobConfig> configs;
  for (const NamedJob& job : folder_.jobs) configs.push_back(job.config);
  hparams_ = differing_values(configs);
  for (const NamedJob& job : folder_.jobs) {
    jobs_.push_back(std::make_unique<Job>(
        machine, job.config,
        JobHooks{.datasets = &datasets_, .models = &models_}));
    report_.members.push_back({.name = job.name,
                               .steps = jobs_.back()->num_steps(),
                               .epochs = jobs_.back()->num_epochs()});
  }
  results_ = keep_results();
}

// Jobs of arrays that come later stand as they did.
std::unique_ptr<ResultsKeeper> ListRun::keep_results() {
  Results before = read_results(out_);
  for (size_t i = 0; i < jobs_.size(); ++i) {
    before.runs[i].steps = jobs_[i]->num_steps();
  }
  return std::make_unique<ResultsKeeper>(out_, std::move(before),
                                         options_.listener);
}

// A job that went on alone may have been given other values in its own
// config.yaml, which count; those that are one for all members must not differ.
void ListRun::read_own_configs() {
  for (NamedJob& job : folder_.jobs) {
    std::filesystem::path path = config_path(out_ / job.name);
    if (!holds_run(out_ / job.name)) continue;
    JobConfig own = read_job(path);
    std::vector<std::string> refused, taken;
    for (const KeyChange& change : job_changes(job.config, own)) {
      (may_change_alone(change) ? taken : refused)
          .push_back(fmt::format("{} is {} there, {} in {}", change.key,
                                 change.now, change.before,
                                 jobs_path(out_).filename().string()));
    }
    if (!refused.empty()) {
      fail_usage(
          "[resume] '{}' is of another job:\n  {}\n"
          "HINT: put the old values back, or begin a new run with the new ones",
          path.string(), fmt::join(refused, "\n  "));
    }
    job.config = own;
    if (taken.empty() || !options_.listener) continue;
    options_.listener->on_message(
        LogLevel::kInfo,
        fmt::format("{}: its {} counts: {}", job.name, path.filename().string(),
                    fmt::join(taken, ", ")));
  }
}

// All of them, or none. What a job's own file says counts, so a process that
// is killed on the way leaves jobs with either values, each of them whole.
void ListRun::change_jobs() {
  std::vector<JobConfig> changed;
  for (const NamedJob& job : folder_.jobs) {
    changed.push_back(
        changed_job(job.config, out_ / job.name, options_.overrides, true));
  }
  for (size_t i = 0; i < changed.size(); ++i) {
    NamedJob& job = folder_.jobs[i];
    job.config = changed[i];
    if (!holds_run(out_ / job.name)) continue;
    write_job(config_path(out_ / job.name), job.config);
  }
  write_job_folder(out_, folder_);
}

Ending ListRun::run() {
  for (size_t i = 0; i < folder_.arrays.size(); ++i) {
    Ending ending = run_array(i);
    if (ending == Ending::kInterrupted) {
      results_->stop(report_);
      return ending;
    }
  }
  return Ending::kDone;
}

Ending ListRun::run_array(size_t number) {
  try {
    return run_members(number);
  } catch (const std::exception& error) {
    results_->fail(folder_.arrays[number], report_, error.what());
    throw;
  }
}

Ending ListRun::run_members(size_t number) {
  const std::vector<size_t>& numbers = folder_.arrays[number];
  std::vector<RunMember> members;
  for (size_t i : numbers) {
    const std::string& name = folder_.jobs[i].name;
    members.push_back({.name = name,
                       .job = jobs_[i].get(),
                       .out = out_ / name,
                       .number = i,
                       .hparams = hparams_[i]});
  }
  auto preparing = options_.preparing ? options_.preparing() : nullptr;
  Run run(members, {.out = array_path(out_, number),
                    .stop = options_.stop,
                    .listener = results_.get(),
                    .report = &report_,
                    .profile = folder_.profile,
                    .logs_passes = options_.logs_passes});
  preparing.reset();
  results_->begin(numbers, report_);
  Ending ending = run.is_finished() ? Ending::kDone : run.run();
  note(run, numbers);
  results_->finish(report_);
  return ending;
}

void ListRun::note(const Run& run, const std::vector<size_t>& numbers) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    failures_[numbers[i]] = run.members()[i]->failure;
  }
  if (!options_.profile || !run.step_s()) return;
  const Job& first = run.members()[0]->job();
  ArraySize size{.members = static_cast<int64_t>(numbers.size()),
                 .shared_data = run.shares_batches()};
  options_.profile->set(plan::Measured::kArray,
                        step_key(job_signature(first), size), *run.step_s());
}

}  // namespace braid::train
