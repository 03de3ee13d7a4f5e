#include "braid/train/array_plans.h"

#include <map>
#include <memory>

#include "braid/base/error.h"
#include "braid/train/array_costs.h"
#include "braid/train/job_signature.h"

namespace braid::train {
namespace {

// "[data] text\nHINT: hint" -> "[data] text (job 'a')\nHINT: hint"
std::string with_job(std::string error, const std::string& name) {
  size_t end = std::min(error.find("\nHINT: "), error.size());
  return error.insert(end, fmt::format(" (job '{}')", name));
}

class Planner {
 public:
  Planner(const runtime::Machine& machine, const std::vector<NamedJob>& jobs)
      : machine_(machine), jobs_(jobs) {}

  ArrayPlans run(const plan::Profile& profile) {
    ArrayPlans plans;
    for (const NamedJob& job : jobs_) {
      plans.jobs.push_back({signature(job), data_signature(job.config)});
    }
    auto costs = [&](size_t i) { return costs_of(plans.jobs[i].signature); };
    plans.arrays = group_jobs(plans.jobs, costs, profile);
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
    if (jobs_.size() == 1) {
      return std::make_unique<Job>(machine_, named.config);
    }
    try {
      return std::make_unique<Job>(machine_, named.config);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(with_job(error.what(), named.name));
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(with_job(error.what(), named.name));
    }
  }

  ArrayCosts costs_of(const std::string& signature) {
    const Job& job = *first_.at(signature);
    auto& backend = backends_[signature];
    backend = machine_.open(job.device(), job.limit_bytes());
    return array_costs(job, *backend, rates_of(job));
  }

  const runtime::Machine& machine_;
  const std::vector<NamedJob>& jobs_;
  std::map<std::string, std::string> kinds_;  // config -> job signature
  std::map<std::string, std::unique_ptr<Job>> first_;  // of each signature
  std::map<std::string, std::unique_ptr<runtime::Backend>> backends_;
};

}  // namespace

ArrayPlans plan_arrays(const runtime::Machine& machine,
                       const std::vector<NamedJob>& jobs,
                       const plan::Profile& profile) {
  return Planner(machine, jobs).run(profile);
}

}  // namespace braid::train
