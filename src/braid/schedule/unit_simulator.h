// Simulator of devices that take turns between jobs, unit by unit: while one
// unit computes, what the next one needs is copied in and what the last one
// left is copied out. A device has room for three units: one that comes, one
// that computes and one that leaves; a copy in begins when a place is free.
#pragma once

#include "braid/schedule/outcome.h"
#include "braid/schedule/policy.h"

namespace braid::schedule {

struct UnitOptions {
  bool prefetches = true;   // the next unit comes while another computes
  bool interleaves = true;  // a device may go to another job after each unit
  bool keeps_spans = false;
};

// The same for the same input. Throws std::invalid_argument as check_jobs()
// and the policy do, and for a job of several devices.
Outcome simulate_units(const std::vector<Job>& jobs,
                       const std::vector<Device>& devices, const Policy& policy,
                       const UnitOptions& options = {});

}  // namespace braid::schedule
