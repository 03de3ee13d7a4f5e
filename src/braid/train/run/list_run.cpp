#include "braid/train/run/list_run.h"

#include <fmt/ranges.h>

#include "braid/base/error.h"
#include "braid/train/array/grouping.h"
#include "braid/train/job/job_changes.h"
#include "braid/train/job/job_file.h"
#include "braid/train/job/job_names.h"
#include "braid/train/job/job_signature.h"
#include "braid/train/queue/queue_folder.h"
#include "braid/train/run/changed_job.h"
#include "braid/train/run/read_results.h"

namespace braid::train {

ListRun::ListRun(const runtime::Machine& machine, std::filesystem::path out,
                 ListRunOptions options)
    : machine_(machine),
      out_(std::move(out)),
      options_(std::move(options)),
      lock_(out_),
      folder_(read_job_folder(out_)),
      models_(machine),
      failures_(folder_.jobs.size()) {
  io::remove_temporary_files(out_);
  reset_tickets(out_, folder_.arrays.size());
  read_own_configs();
  if (options_.devices) change_devices();
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
  if (!options_.trace.empty()) {
    trace_ = std::make_unique<io::Trace>(options_.trace);
  }
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

// Jobs stay what they are: their threads, so that bits stay, and their limits.
void ListRun::change_devices() {
  folder_.devices = *options_.devices;
  write_job_folder(out_, folder_);
}

// What arrays take is known before they train where they share devices.
void ListRun::plan() {
  const JobDevices& devices = folder_.devices;
  if (devices.ids.empty()) {
    sharing_.works.resize(folder_.arrays.size());
    return;
  }
  JobArrays arrays;
  for (const std::vector<size_t>& numbers : folder_.arrays) {
    auto& jobs = arrays.emplace_back();
    for (size_t i : numbers) jobs.push_back(jobs_[i].get());
  }
  sharing_ = choose_sharing(arrays, devices, folder_.profile, programs_);
  if (options_.planned) options_.planned(sharing_, devices);
}

Ending ListRun::run() {
  {
    auto preparing = options_.preparing ? options_.preparing() : nullptr;
    plan();
  }
  JobDevices devices = folder_.devices;
  devices.at_once = sharing_.at_once;
  if (devices.ids.empty()) devices.policy = "fifo";
  joined_ = std::make_unique<JoinedReport>(report_, results_.get(),
                                           [this] { return device_reports(); });
  std::vector<Work> works;
  for (size_t i = 0; i < folder_.arrays.size(); ++i) {
    parts_.push_back(joined_->part(folder_.arrays[i]));
    works.push_back(work(i));
  }
  auto policy = schedule::make_policy(devices.policy, devices.seed);
  auto say = [this](const std::string& text) {
    joined_->locked([&] { results_->on_message(LogLevel::kWarning, text); });
  };
  orchestrator_ = std::make_unique<Orchestrator>(
      std::move(works), *policy,
      OrchestratorOptions{
          .devices = devices, .stop = options_.stop, .say = say});
  Ending ending = orchestrator_->run();
  if (trace_) trace_->finish();
  if (ending == Ending::kInterrupted) results_->stop(report_);
  bool have_all_failed = errors_.size() == folder_.arrays.size();
  if (have_all_failed) std::rethrow_exception(first_error_);
  return ending;
}

Work ListRun::work(size_t number) {
  const std::vector<size_t>& numbers = folder_.arrays[number];
  const Job& first = *jobs_[numbers[0]];
  const WorkPlan& plan = sharing_.works[number];
  std::string name = folder_.jobs[numbers[0]].name;
  if (numbers.size() > 1) {
    name += fmt::format(" and {} more", numbers.size() - 1);
  }
  Work work{.name = std::move(name), .step_s = plan.step_s, .steps = 0};
  for (size_t i : numbers) {
    const JobConfig& config = folder_.jobs[i].config;
    work.steps = std::max(work.steps, jobs_[i]->num_steps());
    work.priority = i == numbers[0] ? config.priority
                                    : std::max(work.priority, config.priority);
    bool is_sooner = config.deadline && (work.deadline_s == 0 ||
                                         *config.deadline < work.deadline_s);
    if (is_sooner) work.deadline_s = *config.deadline;
  }
  work.open = [this, &first, name = work.name](std::optional<DeviceId> device,
                                               const runtime::Budget& budget) {
    return open_device(name, first, device, budget);
  };
  work.begin = [this, number](runtime::Backend& device) {
    return begin_array(number, device);
  };
  work.moved = [this, number](const runtime::Backend* device) {
    parts_[number]->move_to(device ? device->name() : "");
  };
  work.end = [this, number](Run* run, const std::exception_ptr& error) {
    end_array(number, run, error);
  };
  return work;
}

std::unique_ptr<runtime::Backend> ListRun::open_device(
    const std::string& name, const Job& first, std::optional<DeviceId> device,
    const runtime::Budget& budget) const {
  runtime::Budget own =
      device ? shared_budget(first, folder_.devices, sharing_.at_once)
             : first.budget();
  own.seat = budget.seat;
  DeviceId id = device.value_or(first.device());
  if (trace_) {
    own.watch = [this, name, place = device_text(id)](plan::Stream stream,
                                                      auto begin, auto end) {
      std::string track =
          fmt::format("{} {}", place, plan::stream_name(stream));
      try {
        trace_->add(track, "stream", name, begin, end);
      } catch (const std::exception&) {
        // A full disk: the work goes on, and finish() tells.
      }
    };
    if (own.seat) own.seat->set_watch(own.watch);
  }
  return machine_.open(id, own);
}

std::unique_ptr<Run> ListRun::begin_array(size_t number,
                                          runtime::Backend& device) {
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
  bool shares = !folder_.devices.ids.empty();
  bool is_single = !shares && options_.preparing;
  auto preparing = is_single ? options_.preparing() : nullptr;
  auto run = std::make_unique<Run>(
      members, RunOptions{.out = array_path(out_, number),
                          .stop = options_.stop,
                          .listener = parts_[number].get(),
                          .device = &device,
                          .report = &parts_[number]->report(),
                          .programs = shares ? &programs_ : nullptr,
                          .alone = numbers.size() == 1,
                          .profile = folder_.profile,
                          .logs_passes = options_.logs_passes});
  parts_[number]->finish();
  joined_->locked([&] { results_->begin(numbers, report_); });
  return run;
}

void ListRun::end_array(size_t number, Run* run,
                        const std::exception_ptr& error) {
  const std::vector<size_t>& numbers = folder_.arrays[number];
  parts_[number]->finish();
  joined_->locked([&] {
    if (error) {
      try {
        std::rethrow_exception(error);
      } catch (const std::exception& e) {
        errors_.push_back({numbers, parts_of(e)});
        if (!first_error_) first_error_ = error;
        results_->fail(numbers, report_, e.what());
        for (size_t i : numbers) {
          if (has_ended(report_.members[i].state)) continue;
          report_.members[i].state = MemberState::kFailed;
          report_.members[i].failure = parts_of(e).text;
          report_.members[i].is_error = true;
        }
      }
    } else if (run) {
      note(*run, numbers);
      results_->finish(report_);
    }
  });
  bool is_over = !error && run && run->ending() != Ending::kInterrupted;
  if (is_over) parts_[number]->move_to("");
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

std::vector<DeviceReport> ListRun::device_reports() const {
  std::vector<DeviceReport> reports;
  if (folder_.devices.ids.empty() || !orchestrator_) return reports;
  for (DeviceUse& use : orchestrator_->devices()) {
    const runtime::ComputeTimes& t = use.times;
    double all_s = t.busy_s + t.copies_s + t.idle_s;
    auto share = [&](double seconds) {
      return all_s > 0 ? seconds / all_s : 0;
    };
    reports.push_back(
        {.name = device_text(use.id),
         .jobs = std::move(use.works),
         .busy = share(t.busy_s),
         .copies = share(t.copies_s),
         .memory_bytes = use.memory_bytes,
         .limit_bytes = use.limit_bytes == kNoLimit ? 0 : use.limit_bytes,
         .is_left_out = use.is_left_out});
  }
  return reports;
}

}  // namespace braid::train
