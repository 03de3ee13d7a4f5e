// `braid validate`: everything about jobs that can be known without running
// them.
#include <CLI/CLI.hpp>
#include <memory>
#include <set>

#include "braid/base/bytes.h"
#include "braid/cli/job_arguments.h"
#include "braid/cli/output.h"
#include "braid/cli/verbs/options.h"
#include "braid/runtime/executables.h"
#include "braid/train/array/array_plans.h"
#include "braid/train/array/array_specs.h"
#include "braid/train/job/job.h"
#include "braid/train/job/job_plan.h"
#include "braid/train/job/job_signature.h"
#include "braid/train/run/run_words.h"

namespace braid::cli {
namespace {

constexpr size_t kNamesShown = 8;  // of each array

struct ValidateOptions {
  std::vector<std::string> words;
};

void print_data(std::string_view title, const data::Dataset& data) {
  print("{:<7}{} samples of {}: {}\n", title, data.size(), data.name(),
        fields_text(data.fields(), true));
}

std::string limit_text(const train::JobConfig& config) {
  return config.memory_limit ? " of " + bytes_text(*config.memory_limit) : "";
}

void print_job(const train::Job& job, const runtime::Executables& programs) {
  print_data("data", *job.data().train);
  if (job.has_eval()) print_data("eval", *job.data().eval);
  print("steps  {}, {} of an epoch, batches of {}{}\n", job.num_steps(),
        job.steps_per_epoch(), job.batch_rows(),
        job.rest_rows() > 0 ? fmt::format(" and {} at its end", job.rest_rows())
                            : "");
  print("memory {}{} on {}\n", bytes_text(programs.peak_bytes()),
        limit_text(job.config()), device_text(job.device()));
  print("{}\n", train::plan_words(programs.set()));
}

void print_check(std::string_view title, const train::DataCheck& check) {
  if (check.samples == 0) return;
  print("{:<7}{} were looked at\n", title, checked_text(check));
  if (!check.note.empty()) {
    print("       not finite, and passed over: {}\n", check.note);
  }
}

// What the samples hold, of more of them than a training looks at.
void check_samples(const train::Job& job, bool shows) {
  train::Job::DataChecks checks = job.check_data(train::kLongCheck);
  if (!shows) return;
  print_check("data", checks.train);
  if (job.has_eval()) print_check("eval", checks.eval);
}

// Opens and compiles a job as if it were trained alone.
void check_job(const runtime::Machine& machine, const train::JobConfig& config,
               bool shows) {
  train::Job job(machine, config);
  auto backend = job.open_device();
  runtime::Executables programs(machine.ops(),
                                train::array_specs({&job}, {}).all, *backend,
                                {.threads = job.threads(),
                                 .plan = train::plan_request(config.plan),
                                 .spill_dir = config.spill_dir});
  job.model().initialise(programs.state());  // reads files
  for (const std::string& text : train::job_warnings(job)) {
    print_error("[braid validate] {}\n", text);
  }
  if (shows) print_job(job, programs);
  std::string shared = job.model().shared_words();
  if (!shared.empty()) print("note   {}\n", shared);
  for (const auto& note : job.model().init_notes(programs.state().slots(), 0)) {
    print("init   {}\n", note.summary);
  }
  check_samples(job, shows);
}

void print_array(size_t number, const train::ArrayPlan& plan,
                 const std::vector<train::NamedJob>& jobs) {
  const train::JobConfig& first = jobs[plan.jobs[0]].config;
  std::string memory =
      plan.bytes > 0 && plan.fits
          ? fmt::format(", {}{}", bytes_text(plan.bytes), limit_text(first))
          : "";
  print("array  {}: {} of {}{}{}\n", number, plan.jobs.size(),
        first.model.empty() ? "several networks" : first.model, memory,
        plan.size.shared_data ? ", one batch for all" : "");
  size_t shown = std::min(plan.jobs.size(), kNamesShown);
  for (size_t i = 0; i < shown; ++i) {
    print("         {}\n", jobs[plan.jobs[i]].name);
  }
  if (shown < plan.jobs.size()) {
    print("         ... {} more\n", plan.jobs.size() - shown);
  }
}

// Jobs that differ in numbers alone are checked once.
void check_list(const runtime::Machine& machine,
                const std::vector<train::NamedJob>& jobs) {
  train::ArrayPlans plans = train::plan_arrays(machine, jobs);
  std::set<std::string> checked, groups;
  for (const train::NamedJob& job : jobs) {
    bool is_new = checked.insert(train::config_signature(job.config)).second;
    if (is_new) check_job(machine, job.config, checked.size() == 1);
  }
  for (const train::GroupingJob& job : plans.jobs) groups.insert(job.signature);
  print("jobs   {} in {} group{}, {} array{}\n", jobs.size(), groups.size(),
        groups.size() == 1 ? "" : "s", plans.arrays.size(),
        plans.arrays.size() == 1 ? "" : "s");
  for (size_t i = 0; i < plans.arrays.size(); ++i) {
    print_array(i, plans.arrays[i], jobs);
  }
}

int run_validate(const ValidateOptions& o) {
  auto machine = runtime::this_machine();
  JobArguments arguments = split_arguments(o.words);
  train::JobList list =
      train::read_job_list(arguments.files, arguments.overrides);
  if (list.is_single) {
    check_job(*machine, list.jobs[0].config, true);
  } else {
    check_list(*machine, list.jobs);
  }
  for (const auto& file : arguments.files) {
    print("ok     {}\n", file.string());
  }
  return kOk;
}

}  // namespace

Action add_validate(CLI::App& app) {
  auto o = std::make_shared<ValidateOptions>();
  AddOption add(app);
  add("JOB", o->words, " ", "Job files (YAML) and KEY=VALUE, as seed=2")
      ->required();
  return [o] { return run_validate(*o); };
}

}  // namespace braid::cli
