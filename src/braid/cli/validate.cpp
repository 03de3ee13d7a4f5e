// `braid validate`: everything about a job that can be known without running
// it.
#include <CLI/CLI.hpp>
#include <memory>

#include "braid/base/bytes.h"
#include "braid/cli/verb.h"
#include "braid/train/job.h"
#include "braid/train/job_file.h"

namespace braid::cli {
namespace {

struct ValidateOptions {
  std::string job;
  std::vector<std::string> overrides;
};

std::string fields_text(const data::Dataset& data) {
  std::string text;
  for (const data::Field& field : data.fields()) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", field_text(field));
    if (field.classes > 0) text += fmt::format(" below {}", field.classes);
  }
  return text;
}

void print_data(std::string_view title, const data::Dataset& data) {
  fmt::print("{:<7}{} samples of {}: {}\n", title, data.size(), data.name(),
             fields_text(data));
}

int run_validate(const ValidateOptions& o) {
  auto machine = runtime::this_machine();
  train::Job job(*machine, train::read_job(o.job, o.overrides));
  auto backend = machine->open(job.device(), job.limit_bytes());
  train::Programs programs(machine->ops(), job.sources(), *backend,
                           job.program_options());
  job.model().initialise(programs.state());  // reads files
  print_data("data", *job.data().train);
  if (job.has_eval()) print_data("eval", *job.data().eval);
  fmt::print("steps  {}, {} of an epoch, batches of {}{}\n", job.num_steps(),
             job.steps_per_epoch(), job.batch_rows(),
             job.rest_rows() > 0
                 ? fmt::format(" and {} at its end", job.rest_rows())
                 : "");
  fmt::print("memory {}{} on {}\n", bytes_text(programs.peak_bytes()),
             job.config().memory_limit
                 ? " of " + bytes_text(*job.config().memory_limit)
                 : "",
             job.device());
  fmt::print("ok     {}\n", o.job);
  return kOk;
}

}  // namespace

Action add_validate(CLI::App& app) {
  auto o = std::make_shared<ValidateOptions>();
  app.add_option("JOB", o->job, "A job file (YAML)")
      ->type_name(" ")
      ->required();
  app.add_option("OVERRIDES", o->overrides, "KEY=VALUE, as optimizer.lr=3e-4")
      ->type_name(" ");
  return [o] { return run_validate(*o); };
}

}  // namespace braid::cli
