#include "braid/cli/verbs/compile_jobs.h"

#include <algorithm>

#include "braid/base/error.h"
#include "braid/base/text.h"
#include "braid/cli/output.h"
#include "braid/train/array/array_plans.h"

namespace braid::cli {
namespace {

void compile_array(const runtime::Machine& machine,
                   const std::vector<train::NamedJob>& jobs,
                   const train::ArrayPlan& plan, train::RunOptions options,
                   const std::function<void(train::Run&)>& made) {
  train::DatasetCache datasets;
  train::ModelFiles models(machine);
  std::vector<std::unique_ptr<train::Job>> opened;
  std::vector<train::RunMember> members;
  for (size_t number : plan.jobs) {
    const train::NamedJob& job = jobs[number];
    opened.push_back(std::make_unique<train::Job>(
        machine, job.config,
        train::JobHooks{.datasets = &datasets, .models = &models}));
    members.push_back({.name = job.name, .job = opened.back().get()});
  }
  options.alone = members.size() == 1;
  train::Run run(members, std::move(options));
  if (made) made(run);
}

}  // namespace

void compile_jobs(const runtime::Machine& machine, const train::JobList& list,
                  const plan::Profile& profile,
                  const compile::PassObserver& observer,
                  const std::function<void(train::Run&)>& made) {
  if (list.is_single) {
    train::Job job(machine, list.jobs[0].config);
    train::Run run(job, {.profile = profile, .observer = observer});
    if (made) made(run);
    return;
  }
  train::ArrayPlans plans =
      train::plan_arrays(machine, list.jobs, {.profile = profile});
  for (const train::ArrayPlan& plan : plans.arrays) {
    compile_array(machine, list.jobs, plan,
                  {.profile = profile, .observer = observer}, made);
  }
}

void print_after(const runtime::Machine& machine, const train::JobList& list,
                 const plan::Profile& profile, const std::string& pass) {
  bool is_there = false;
  compile_jobs(machine, list, profile, [&](const compile::PassResult& result) {
    if (result.pass != pass) return;
    is_there = true;
    print("# {}\n{}", result.spec.name, result.text());
  });
  if (!is_there) fail_usage("[dump] no program here has a pass '{}'", pass);
}

void check_pass_name(const std::string& verb, const std::string& pass) {
  const std::vector<std::string>& known = compile::pass_names();
  if (std::ranges::find(known, pass) != known.end()) return;
  fail_usage("[{}] --dump-after: there is no pass '{}'\nHINT: {}", verb, pass,
             name_hint(pass, known));
}

}  // namespace braid::cli
