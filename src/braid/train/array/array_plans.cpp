#include "braid/train/array/array_plans.h"

#include <algorithm>
#include <map>
#include <memory>

#include "braid/base/error.h"
#include "braid/passes/array/partial.h"
#include "braid/train/array/array_costs.h"
#include "braid/train/array/time_lowerings.h"
#include "braid/train/job/job_signature.h"

namespace braid::train {
namespace {

// Of its nodes, that members which differ have in common at least.
constexpr double kLeastCommon = 0.5;

ErrorParts with_job(const std::exception& error, const std::string& name) {
  ErrorParts parts = parts_of(error);
  parts.text += fmt::format(" (job '{}')", name);
  return parts;
}

class Planner {
 public:
  Planner(const runtime::Machine& machine, const std::vector<NamedJob>& jobs)
      : models_(machine), jobs_(jobs) {}

  ArrayPlans run(const ArrayPlanOptions& options) {
    ArrayPlans plans;
    for (const NamedJob& job : jobs_) {
      plans.jobs.push_back({signature(job), data_signature(job.config)});
    }
    if (!options.arrays) {
      for (size_t i = 0; i < jobs_.size(); ++i) {
        plans.arrays.push_back({.jobs = {i}});
      }
      return plans;
    }
    auto costs = [&](size_t i) { return costs_of(plans.jobs[i].signature); };
    plans.arrays =
        group_jobs(plans.jobs, costs, options.profile, options.devices);
    // Several devices are better off with several arrays.
    if (std::ssize(plans.arrays) > options.devices) join_singles(plans);
    return plans;
  }

 private:
  // Jobs that differ only in numbers are opened once.
  std::string signature(const NamedJob& named) {
    std::string kind = config_signature(named.config);
    auto known = kinds_.find(kind);
    if (known != kinds_.end()) return known->second;
    std::unique_ptr<Job> job = open(named);
    std::string made = job_signature(*job);
    first_.emplace(made, std::move(job));
    kinds_.emplace(kind, made);
    return made;
  }

  std::unique_ptr<Job> open(const NamedJob& named) const {
    auto make = [&] {
      return std::make_unique<Job>(models_.machine(), named.config,
                                   JobHooks{.models = &models_});
    };
    if (jobs_.size() == 1) return make();
    try {
      return make();
    } catch (const std::invalid_argument& error) {
      throw UsageError(with_job(error, named.name));
    } catch (const std::runtime_error& error) {
      throw WorldError(with_job(error, named.name));
    }
  }

  // Jobs that no other equals train with those that have most layers in
  // common with them.
  void join_singles(ArrayPlans& plans) {
    std::vector<ArrayPlan> arrays;
    std::map<std::string, std::vector<size_t>> joined;  // frame -> arrays
    for (ArrayPlan& plan : plans.arrays) {
      const std::string& signature = plans.jobs[plan.jobs[0]].signature;
      const Job& job = *first_.at(signature);
      bool is_single = plan.jobs.size() == 1 && plan.fits &&
                       job.model().phases().size() == 1;
      if (is_single) {
        plan.bytes = costs_of(signature).bytes({});
        auto& open = joined[frame_signature(job)];
        auto fits = [&](size_t at) { return join(plans, arrays[at], plan); };
        if (std::ranges::any_of(open, fits)) continue;
        open.push_back(arrays.size());
      }
      arrays.push_back(std::move(plan));
    }
    plans.arrays = std::move(arrays);
  }

  // Whether the single job became a member of the array.
  bool join(const ArrayPlans& plans, ArrayPlan& array,
            const ArrayPlan& single) {
    std::vector<Graph> graphs;
    std::vector<size_t> jobs = array.jobs;
    jobs.push_back(single.jobs[0]);
    for (size_t number : jobs) {
      const Job& job = *first_.at(plans.jobs[number].signature);
      graphs.push_back(job.model().forward(0, job.batch_rows()));
    }
    const Job& first = *first_.at(plans.jobs[jobs[0]].signature);
    // Together they need no more than one after the other at once.
    int64_t bytes = array.bytes + single.bytes;
    bool fits = bytes <= first.budget().bytes &&
                passes::common_share(graphs) >= kLeastCommon;
    if (!fits) return false;
    bool shared = plans.jobs[jobs[0]].data == plans.jobs[jobs.back()].data &&
                  (array.jobs.size() == 1 || array.size.shared_data);
    array.jobs = std::move(jobs);
    array.size = {static_cast<int64_t>(array.jobs.size()), shared};
    array.bytes = bytes;
    return true;
  }

  ArrayCosts costs_of(const std::string& signature) {
    const Job& job = *first_.at(signature);
    auto& backend = backends_[signature];
    backend = job.open_device();
    return array_costs(job, *backend);
  }

  ModelFiles models_;
  const std::vector<NamedJob>& jobs_;
  std::map<std::string, std::string> kinds_;  // config -> job signature
  std::map<std::string, std::unique_ptr<Job>> first_;  // of each signature
  std::map<std::string, std::unique_ptr<runtime::Backend>> backends_;
};

}  // namespace

ArrayPlans plan_arrays(const runtime::Machine& machine,
                       const std::vector<NamedJob>& jobs,
                       const ArrayPlanOptions& options) {
  return Planner(machine, jobs).run(options);
}

void time_arrays(const runtime::Machine& machine,
                 const std::vector<NamedJob>& jobs, const ArrayPlans& plans,
                 plan::Profile& profile) {
  for (const ArrayPlan& array : plans.arrays) {
    if (array.jobs.size() < 2) continue;
    Job job(machine, jobs[array.jobs[0]].config);
    auto backend = machine.open(job.device(), {.cores = job.threads()});
    for (size_t phase = 0; phase < job.model().phases().size(); ++phase) {
      int64_t rows = job.batch_rows() / job.micro_batches(job.batch_rows());
      profile.add(time_lowerings(
          machine.ops(), job.model().forward(phase, rows),
          std::ssize(array.jobs), *backend, job.threads(), profile));
    }
  }
}

}  // namespace braid::train
