// PlanReport: what a plan does and why, for people: each segment's decision
// with its price, and what other limits would cost.
#pragma once

#include <string>
#include <vector>

#include "braid/compile/planner.h"

namespace braid::compile {

struct SegmentReport {
  std::string name = {};
  plan::Decision decision = {};
  int64_t device_bytes = 0;  // that stay between its parts, and all the time
  int64_t host_bytes = 0;
  double compute_s = 0;   // of one step
  double transfer_s = 0;  // both ways, and updates on the host
  // Over keeping everything: what it frees, and what its own streams take more.
  int64_t freed_bytes = 0;
  double more_s = 0;
  std::string why = {};
};

// The best plan for a limit.
struct FrontPoint {
  int64_t limit_bytes = 0;
  bool fits = false;
  PlanTrial trial = {};
  plan::Plan plan = {};
};

struct PlanReport {
  PlanChoice choice = {};
  PlanTrial kept = {};      // with everything kept that may be
  int64_t least_bytes = 0;  // of the plans that were tried for that
  std::vector<SegmentReport> segments = {};
  std::vector<FrontPoint> front = {};  // from little to much memory
};

struct ReportOptions {
  int front_points = 0;  // 0: no front
};

// For the target's limits.
PlanReport report_plan(const Planner& planner, const ReportOptions& options);

// As a file that `plan:` takes: every segment by its name.
std::string plan_yaml(const plan::Plan& plan,
                      const std::vector<std::string>& segments);

}  // namespace braid::compile
