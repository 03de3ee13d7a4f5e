// `braid train` and `braid resume`: job files that become runs.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <memory>

#include "braid/base/error.h"
#include "braid/cli/display/run_display.h"
#include "braid/cli/job_arguments.h"
#include "braid/cli/log_options.h"
#include "braid/cli/output.h"
#include "braid/cli/profile_file.h"
#include "braid/cli/signals.h"
#include "braid/cli/verbs/compile_jobs.h"
#include "braid/cli/verbs/options.h"
#include "braid/cli/verbs/train_list.h"
#include "braid/train/job/job_file.h"
#include "braid/train/job/job_folder.h"
#include "braid/train/job/job_page.h"
#include "braid/train/run/changed_job.h"
#include "braid/train/run/own_files.h"
#include "braid/train/run/run.h"
#include "braid/train/run/time_run.h"

namespace braid::cli {
namespace {

struct TrainOptions {
  std::vector<std::string> words;  // job files and values over them
  std::string out;
  std::string profile;
  std::string trace;
  std::string spill_dir;
  std::string dump_after;  // a pass
  bool resume = false;
  int64_t queue = 0;  // for so many workers; 0: it trains here
  std::optional<double> lease_s;
  DeviceOptions devices;
  LogOptions log;
};

void declare_output(CLI::App& app, TrainOptions& o) {
  declare_log_options(app, o.log);
  declare_device_options(app, o.devices);
  AddOption add(app);
  add("--trace", o.trace, "FILE", "Write what was done when, for Perfetto");
  add("--profile", o.profile, "FILE",
      "Measured seconds; what is missing is measured");
  add("--spill-dir", o.spill_dir, "DIR",
      "Of files that a plan makes; as spill_dir=DIR");
}

// The words with what options say as well.
std::vector<std::string> all_words(const TrainOptions& o) {
  std::vector<std::string> words = o.words;
  if (!o.spill_dir.empty()) {
    words.push_back("spill_dir=" +
                    std::filesystem::absolute(o.spill_dir).string());
  }
  return words;
}

TrainListOptions list_options(const TrainOptions& o) {
  for (const std::string& file : {o.trace, o.profile}) {
    if (!file.empty()) train::check_not_of_run(file, o.out);
  }
  return {.out = o.out,
          .resume = o.resume,
          .profile = o.profile,
          .overrides = {},
          .queue = o.queue,
          .lease_s = o.lease_s,
          .devices = o.devices,
          .trace = o.trace,
          .log = o.log};
}

plan::Profile profile_for(const train::Job& job, const TrainOptions& o) {
  plan::Profile profile = read_profile(o.profile);
  if (o.profile.empty()) return profile;
  train::TimedRun timed = train::complete_profile({&job}, profile);
  write_profile(o.profile, profile);
  if (timed.steps > 0 && !o.log.quiet) {
    print("{}\n", train::timed_words(timed, o.profile));
  }
  return profile;
}

int run_job(const train::JobConfig& config, const TrainOptions& o,
            bool is_new) {
  for (const std::string& file : {o.trace, o.profile}) {
    if (!file.empty()) train::check_not_of_run(file, o.out);
  }
  std::string verb = is_new ? "train" : "resume";
  watch_stop_signals();
  std::optional<StopAtOnce> preparing(
      std::in_place,
      fmt::format(
          "[braid {}] stopped before the first step; {}\n", verb,
          is_new ? "there is nothing to save" : "the run is as it was"));
  auto machine = runtime::this_machine();
  train::Job job(*machine, config);
  RunDisplay display(o.log.quiet, o.log.shown());
  train::Run run(job, {.out = o.out,
                       .create = is_new,
                       .stop = stop_requested,
                       .listener = &display,
                       .trace = o.trace,
                       .profile = profile_for(job, o),
                       .logs_passes = o.log.verbose});
  preparing.reset();
  // Nothing is in the way of other values.
  bool has_values = !all_words(o).empty() || o.devices.is_any();
  if (!is_new && has_values) {
    train::write_job(train::config_path(o.out), config);
  }
  if (run.is_finished()) {
    print("done   all {} steps were done before  {}\n", run.steps_done(),
          o.out);
    return kOk;
  }
  train::Ending ending = run.run();
  if (ending == train::Ending::kInterrupted) {
    display.finish();
    print_error(
        "[braid {}] stopped after step {} of {}, which is saved\n"
        "HINT: 'braid resume {}' goes on from there\n",
        verb, run.steps_done(), job.num_steps(), o.out);
    return kInterrupted;
  }
  display.done(run, o.out);
  return kOk;
}

void check_same_job(train::JobConfig config, const std::string& out) {
  train::resolve_data_paths(config);
  if (config == train::read_job(train::config_path(out))) return;
  fail_usage(
      "[braid train] '{}' holds a run of another job\n"
      "HINT: 'braid resume {}' goes on with that one",
      out, out);
}

// Prints instead of training.
int dump(const JobArguments& arguments, const TrainOptions& o) {
  check_pass_name("braid train", o.dump_after);
  auto machine = runtime::this_machine();
  print_after(*machine,
              train::read_job_list(arguments.files, arguments.overrides),
              read_profile(o.profile), o.dump_after);
  return kOk;
}

int run_train(const TrainOptions& o) {
  JobArguments arguments = split_arguments(all_words(o));
  if (arguments.files.empty()) {
    fail_usage(
        "[braid train] JOB is missing: a YAML file\n"
        "HINT: see 'braid train --help'");
  }
  if (!o.dump_after.empty()) return dump(arguments, o);
  if (o.out.empty()) {
    fail_usage(
        "[braid train] --out DIR is missing\n"
        "HINT: a new folder for the results, as --out runs/first");
  }
  train::JobList list =
      train::read_job_list(arguments.files, arguments.overrides);
  if (o.lease_s && o.queue == 0) {
    fail_usage("[braid train] --lease is for --queue");
  }
  if (!list.is_single || o.queue != 0) {
    return train_list(std::move(list), list_options(o));
  }
  if (std::vector<std::string> own = o.devices.words_of_one("braid train");
      !own.empty()) {
    own.insert(own.begin(), arguments.overrides.begin(),
               arguments.overrides.end());
    list = train::read_job_list(arguments.files, own);
  }
  const train::JobConfig& config = list.jobs[0].config;
  bool goes_on = o.resume && train::holds_run(o.out);
  goes_on ? check_same_job(config, o.out) : train::check_free(o.out);
  return run_job(config, o, !goes_on);
}

int run_resume(const TrainOptions& o) {
  if (train::holds_jobs(o.out)) {
    TrainListOptions options = list_options(o);
    options.overrides = all_words(o);
    return resume_list(options);
  }
  if (!train::holds_run(o.out)) {
    fail_usage(
        "[braid resume] '{}' holds no run: there is no {}\n"
        "HINT: 'braid train JOB.yaml --out {}' begins one",
        o.out, train::config_path(o.out).filename().string(), o.out);
  }
  train::JobConfig config = train::read_job(train::config_path(o.out));
  std::vector<std::string> words = all_words(o);
  std::ranges::move(o.devices.words_of_one("braid resume"),
                    std::back_inserter(words));
  if (!words.empty()) config = train::changed_job(config, o.out, words);
  return run_job(config, o, false);
}

}  // namespace

Action add_train(CLI::App& app) {
  auto o = std::make_shared<TrainOptions>();
  AddOption add(app);
  add("JOB", o->words, " ", "Job files, and values: optimizer.lr=3e-4");
  add("--out", o->out, "DIR", "A new folder for the run, or for all jobs");
  app.add_flag("--resume", o->resume, "Go on when DIR holds the same jobs");
  app.add_flag("--queue{4}", o->queue,
               "Write DIR for workers, as --queue=8 for so many, and stop");
  add("--lease", o->lease_s, "SECONDS",
      "Until others take over from a silent worker (30)");
  add("--dump-after", o->dump_after, "PASS",
      "Print what a pass leaves, and stop");
  declare_output(app, *o);
  app.footer(policy_words() +
             "\nKeys of a job file, with their defaults (docs/job.md):\n" +
             train::job_help());
  return [o] { return run_train(*o); };
}

Action add_resume(CLI::App& app) {
  auto o = std::make_shared<TrainOptions>();
  AddOption add(app);
  add("DIR", o->out, " ", "The folder of a run, or of several jobs")
      ->required();
  add("VALUES", o->words, " ", "KEY=VALUE to go on with: epochs=10");
  declare_output(app, *o);
  return [o] { return run_resume(*o); };
}

}  // namespace braid::cli
