#include "braid/train/jobs/predicted_schedule.h"

#include <algorithm>
#include <cmath>

#include "braid/schedule/unit_simulator.h"

namespace braid::train {
namespace {

constexpr int64_t kMostUnits = 2000;  // of a job: longer ones have larger units

int64_t nanoseconds(double seconds) {
  return static_cast<int64_t>(
      std::llround(std::clamp(seconds * 1e9, 1.0, 1e15)));
}

// A unit is a few steps. Where a job has a device by itself, its copies are
// part of its steps; else others compute meanwhile.
schedule::Job job_of(const WorkPlan& work, const WorkFacts& facts,
                     int at_once) {
  int64_t steps = std::max<int64_t>(work.steps, 1);
  int64_t count = std::min(steps, kMostUnits);
  double of_unit = static_cast<double>(steps) / static_cast<double>(count);
  schedule::Unit unit{.compute_ns = nanoseconds(of_unit * work.step_s)};
  if (at_once > 1) {
    unit = {.compute_ns = nanoseconds(of_unit * work.compute_s),
            .in_ns = nanoseconds(of_unit * work.transfer_s)};
  }
  schedule::Job job{.name = facts.name,
                    .units = {unit},
                    .num_steps = count,
                    .priority = facts.priority};
  if (facts.deadline_s > 0) job.deadline_ns = nanoseconds(facts.deadline_s);
  return job;
}

}  // namespace

PredictedSchedule predict_schedule(const std::vector<WorkPlan>& works,
                                   const std::vector<WorkFacts>& facts,
                                   const JobDevices& devices, int num_devices,
                                   int at_once) {
  std::vector<schedule::Job> jobs;
  for (size_t i = 0; i < works.size(); ++i) {
    jobs.push_back(job_of(works[i], facts[i], at_once));
    jobs.back().arrival_ns = static_cast<int64_t>(i);  // in their order
  }
  std::vector<schedule::Device> equal(static_cast<size_t>(num_devices));
  auto policy = schedule::make_policy(devices.policy, devices.seed);
  PredictedSchedule predicted{
      .outcome = schedule::simulate_units(jobs, equal, *policy,
                                          {.prefetches = at_once > 1,
                                           .interleaves = true,
                                           .keeps_spans = true})};
  predicted.least_ns = schedule::least_makespan_ns(jobs, equal);
  return predicted;
}

}  // namespace braid::train
