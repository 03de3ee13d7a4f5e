// How jobs will go through the devices that they share, by prediction.
#pragma once

#include <string>
#include <vector>

#include "braid/schedule/outcome.h"
#include "braid/train/jobs/work_plans.h"

namespace braid::train {

// A work as the policies see it.
struct WorkFacts {
  std::string name = {};
  double priority = 0;
  double deadline_s = 0;  // 0: none
};

struct PredictedSchedule {
  schedule::Outcome outcome = {};  // with spans
  int64_t least_ns = 0;            // no order of these could end sooner
};

// The same for the same input. Throws as the policy does.
PredictedSchedule predict_schedule(const std::vector<WorkPlan>& works,
                                   const std::vector<WorkFacts>& facts,
                                   const JobDevices& devices, int num_devices,
                                   int at_once);

}  // namespace braid::train
