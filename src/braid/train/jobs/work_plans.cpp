#include "braid/train/jobs/work_plans.h"

#include <algorithm>
#include <functional>

#include "braid/base/error.h"
#include "braid/train/array/array.h"
#include "braid/train/job/job_plan.h"
#include "braid/train/run/run_words.h"

namespace braid::train {
namespace {

constexpr double kWorthwhile = 0.95;  // of the time, for turns to pay

bool share_batches(const std::vector<const Job*>& jobs) {
  return std::ranges::all_of(jobs, [&](const Job* job) {
    return job->data().train == jobs[0]->data().train &&
           job->loader_options() == jobs[0]->loader_options();
  });
}

int64_t steps_of(const std::vector<const Job*>& jobs) {
  int64_t most = 0;
  for (const Job* job : jobs) most = std::max(most, job->num_steps());
  return most;
}

WorkPlan plan_work(const std::vector<const Job*>& jobs,
                   const JobDevices& devices, int at_once,
                   const plan::Profile& profile,
                   compile::ProgramCache& programs) {
  const Job& first = *jobs[0];
  WorkPlan plan{.steps = steps_of(jobs)};
  auto backend = first.machine().open(devices.ids[0],
                                      shared_budget(first, devices, at_once));
  bool is_array = jobs.size() > 1;
  ArrayOptions options{
      .form = {.capacity = is_array ? std::ssize(jobs) : 0,
               .shares_batches = is_array && share_batches(jobs)},
      .plan = plan_request(first.config().plan),
      .profile = profile,
      .programs = &programs};
  try {
    auto set = array_programs(jobs, *backend, options);
    plan.step_s = set->step_s;
    plan.compute_s = set->compute_s;
    plan.transfer_s = set->transfer_s;
    plan.peak_bytes = set->peak_bytes;
    plan.host_bytes = set->host_bytes;
    plan.saves_memory = saves_memory(*set);
  } catch (const std::runtime_error& error) {
    plan.problem = error.what();
  }
  return plan;
}

bool fits_all(const std::vector<WorkPlan>& works) {
  return std::ranges::all_of(
      works, [](const WorkPlan& work) { return work.problem.empty(); });
}

}  // namespace

runtime::Budget shared_budget(const Job& job, const JobDevices& devices,
                              int at_once) {
  runtime::Budget budget = job.budget();
  budget.bytes = std::min(budget.bytes, devices.share_bytes(at_once));
  return budget;
}

std::vector<WorkPlan> plan_works(const JobArrays& arrays,
                                 const JobDevices& devices, int at_once,
                                 const plan::Profile& profile,
                                 compile::ProgramCache& programs) {
  std::vector<WorkPlan> works;
  for (const auto& jobs : arrays) {
    works.push_back(plan_work(jobs, devices, at_once, profile, programs));
  }
  return works;
}

double all_seconds(const std::vector<WorkPlan>& works, int at_once) {
  double alone = 0, compute = 0, transfer = 0;
  for (const WorkPlan& work : works) {
    auto steps = static_cast<double>(work.steps);
    alone += steps * work.step_s;
    compute += steps * work.compute_s;
    transfer += steps * work.transfer_s;
  }
  return at_once > 1 ? std::max(compute, transfer) : alone;
}

PredictedSpan predict_span(const std::vector<WorkPlan>& works, int devices,
                           int at_once) {
  auto seconds = [](const WorkPlan& work) {
    return static_cast<double>(work.steps) * work.step_s;
  };
  std::vector<WorkPlan> sorted = works;
  std::ranges::stable_sort(sorted, std::greater<>(), seconds);
  std::vector<std::vector<WorkPlan>> of(static_cast<size_t>(devices));
  auto span_of = [&](const std::vector<WorkPlan>& device) {
    // One after the other at worst, and none is faster than alone.
    double longest = 0;
    for (const WorkPlan& work : device) {
      longest = std::max(longest, seconds(work));
    }
    return std::max(all_seconds(device, at_once), longest);
  };
  for (const WorkPlan& work : sorted) {
    std::ranges::min_element(of, {}, span_of)->push_back(work);
  }
  PredictedSpan span;
  for (const auto& device : of) {
    span.seconds = std::max(span.seconds, span_of(device));
  }
  span.least_s = all_seconds(works, at_once) / devices;
  if (!sorted.empty())
    span.least_s = std::max(span.least_s, seconds(sorted[0]));
  return span;
}

SharingPlan choose_sharing(const JobArrays& arrays, const JobDevices& devices,
                           const plan::Profile& profile,
                           compile::ProgramCache& programs) {
  auto plan_for = [&](int at_once) {
    return SharingPlan{at_once,
                       plan_works(arrays, devices, at_once, profile, programs)};
  };
  if (devices.at_once > 0) return plan_for(devices.at_once);
  SharingPlan alone = plan_for(1);
  bool may_share = arrays.size() > 1 && fits_all(alone.works) &&
                   std::ranges::any_of(alone.works, &WorkPlan::saves_memory) &&
                   devices.ids[0].kind == DeviceKind::kCpu;
  if (!may_share) return alone;
  SharingPlan shared = plan_for(2);
  bool pays =
      fits_all(shared.works) &&
      all_seconds(shared.works, 2) < kWorthwhile * all_seconds(alone.works, 1);
  return pays ? shared : alone;
}

}  // namespace braid::train
