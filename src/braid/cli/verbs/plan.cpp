// `braid plan`: of a job what is done about its memory and why, or the solution
// of a planning problem in a file.
#include <CLI/CLI.hpp>
#include <memory>

#include "braid/base/error.h"
#include "braid/cli/verbs/options.h"
#include "braid/cli/verbs/plan_devices.h"
#include "braid/cli/verbs/plan_instance.h"
#include "braid/cli/verbs/plan_job.h"

namespace braid::cli {
namespace {

struct PlanOptions {
  PlanInstanceOptions instance;
  PlanJobOptions job;
  DeviceOptions devices;  // but for --memory-limit, which is one of the job
  std::string solver;
};

void check(const PlanOptions& o) {
  bool has_instance = !o.instance.instance.empty();
  if (has_instance == !o.job.words.empty()) {
    fail_usage("[braid plan] expected a job file, or --instance FILE");
  }
  if (has_instance) {
    for (const std::string* option :
         {&o.job.memory_limit, &o.job.host_limit, &o.job.save, &o.job.svg,
          &o.job.dot, &o.job.profile}) {
      if (option->empty()) continue;
      fail_usage(
          "[braid plan] --memory-limit, --host-limit, --profile, --save, --svg "
          "and --dot are of jobs, not of --instance");
    }
  }
  if (!has_instance && (o.instance.solve.effort || o.instance.solve.seed)) {
    fail_usage("[braid plan] --effort and --seed are of --instance");
  }
}

// What is of devices that several jobs share, or of one job's memory.
int plan_shared(const PlanOptions& o) {
  for (const std::string* option :
       {&o.job.host_limit, &o.job.save, &o.job.dot, &o.solver}) {
    if (option->empty()) continue;
    fail_usage(
        "[braid plan] --host-limit, --solver, --save and --dot are of one job, "
        "not of --devices\n"
        "HINT: host_limit=BYTES and plan.solver=NAME are keys of jobs");
  }
  DeviceOptions devices = o.devices;
  devices.memory_limit = o.job.memory_limit;
  return plan_devices(o.job, devices);
}

int run_plan(PlanOptions o) {
  check(o);
  if (o.devices.is_any()) return plan_shared(o);
  if (o.instance.instance.empty()) {
    o.job.solver = o.solver;
    return plan_job(o.job);
  }
  o.instance.json = o.job.json;
  if (!o.solver.empty()) o.instance.solve.solver = o.solver;
  return plan_instance(o.instance);
}

std::string solver_words() {
  std::string text = "Solvers:\n";
  for (const plan::Solver& solver : plan::solvers()) {
    text += fmt::format("  {:<12}{}\n", solver.name, solver.words);
  }
  return text;
}

}  // namespace

Action add_plan(CLI::App& app) {
  auto o = std::make_shared<PlanOptions>();
  AddOption add(app);
  add("JOB", o->job.words, " ", "Job files (YAML) and KEY=VALUE, as seed=2");
  add("--memory-limit", o->job.memory_limit, "BYTES",
      "Of the device, or of each: 512MiB (as the job says)");
  add("--host-limit", o->job.host_limit, "BYTES",
      "Of host memory that things are moved to (as the job says)");
  declare_sharing_options(app, o->devices);
  add("--instance", o->instance.instance, "FILE",
      "Instead: a planning problem as bare numbers (JSON, docs/plan.md)");
  add("--solver", o->solver, "NAME", "One of those below (certified)");
  add.whole("--effort", o->instance.solve.effort, "N",
            "Of an instance: work to spend, not seconds (what fits the size)");
  add.whole("--seed", o->instance.solve.seed, "N",
            "Of an instance: of what is drawn (0)");
  add("--profile", o->job.profile, "FILE",
      "Measured seconds; what is missing is measured");
  add("--save", o->job.save, "FILE", "Write the plan, as `plan:` takes it");
  add("--svg", o->job.svg, "FILE", "Write a picture of time by memory");
  add("--dot", o->job.dot, "FILE", "Write the segments for Graphviz");
  app.add_flag("--json", o->job.json, "Print JSON");
  app.footer(solver_words());
  return [o] { return run_plan(*o); };
}

}  // namespace braid::cli
