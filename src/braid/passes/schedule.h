// Schedules: the learning rate of a member as a function of its own step.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace braid::passes {

// A schedule and its values; what is not given has a default.
//   constant
//   step         step_size, gamma (0.1)
//   multi_step   milestones, gamma (0.1)
//   exponential  gamma
//   cosine       steps, min_lr (0)
//   restarts     period, growth (1), min_lr (0): cosine with warm restarts
//   linear       steps, start_factor (1), end_factor (0)
//   polynomial   steps, power (1)
//   one_cycle    steps, max_lr, start_share (0.3), div (25), final_div (1e4)
//   noam         width, warmup: width^-0.5 * min(t^-0.5, t * warmup^-1.5)
// Any of them may begin with `warmup` steps that rise from warmup_factor
// (0) to 1 in a straight line; the schedule then counts from their end.
struct Schedule {
  std::string kind = "constant";
  std::map<std::string, double> values = {};
  std::vector<double> milestones = {};
};

// Throws when the kind or a value is unknown, missing or out of range.
void validate(const Schedule& schedule);

// The learning rate for step `step` (0 is the first) of a member whose base
// rate is `lr`.
double learning_rate(const Schedule& schedule, double lr, double step);

// Lowers a rate when a metric stops getting better. One per member; its
// fields are state to be saved.
struct Plateau {
  double factor = 0.1;
  int patience = 10;
  double threshold = 1e-4;  // relative
  double min_lr = 0;
  int cooldown = 0;
  bool larger_is_better = false;

  double best = 0;
  bool has_best = false;
  int bad = 0;
  int cooling = 0;

  // The next rate after the metric of one more epoch.
  double next(double lr, double metric);
};

}  // namespace braid::passes
