// Schedules: the learning rate of a member as a function of its own step.
// Formulas are those of torch.optim.lr_scheduler, in closed form.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace braid::passes {

// A kind and its values; what is not given has a default. Most values are one
// number, "milestones" is a list. Numbers of steps may be shares of the run, in
// percent.
struct Schedule {
  std::string kind = "constant";
  std::map<std::string, std::vector<double>> values = {};
  std::map<std::string, std::vector<double>> percents = {};

  bool operator==(const Schedule&) const = default;
};

// Where a member is.
struct Moment {
  double step = 0;        // steps before this one
  double reductions = 0;  // of Plateau
};

struct ScheduleValue {
  std::string name;
  std::optional<double> value = {};  // the default; none: it must be given
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  bool above_low = false;  // `low` itself is out of range
  bool is_list = false;
  bool counts_steps = false;  // it may be a share of the run
  bool is_length = false;     // not given: what the run has after the warm-up
};

// The values of one schedule, defaults included.
class ScheduleValues;

// Kinds of schedules: one row each.
struct ScheduleKind {
  std::string name;
  std::vector<ScheduleValue> values;
  double (*rate)(const ScheduleValues& values, double lr, const Moment& at);
  std::string summary;
  bool watches_loss = false;  // it has a Plateau
};

const std::vector<ScheduleKind>& schedule_kinds();

// Values that every kind has besides its own: `warmup` steps that rise in a
// straight line from `warmup_factor` times the first rate; the schedule then
// counts from their end. Noam's `warmup` is its own.
const std::vector<ScheduleValue>& warmup_values();

// "cosine(steps=90,warmup=10)", "cosine(warmup=5%)". Throws when it cannot be
// read, or the kind or a value is unknown, missing or out of range.
Schedule parse_schedule(std::string_view text);
std::string schedule_text(const Schedule& schedule);

// "cosine(steps,min_lr=0)", for lists of what there is.
std::string signature_text(const ScheduleKind& kind);

// Throws as parse_schedule() does.
void validate(const Schedule& schedule);

// Whether it depends on the length of the run: `steps` is not given, or a value
// is a share.
bool needs_length(const Schedule& schedule);

// The same for a run of so many steps: shares become whole numbers of them, and
// what has no length ends with the run. One that needs no length stays as it
// is.
Schedule for_length(Schedule schedule, int64_t num_steps);

// The rate of a member whose base rate is `lr`; the schedule needs no length.
double learning_rate(const Schedule& schedule, double lr, const Moment& at);

// What reduce-on-plateau remembers; numbers that begin as 0, so that they fit
// a slot.
struct Plateau {
  double has_best = 0;
  double best = 0;
  double bad = 0;      // steps since the best
  double cooling = 0;  // steps that count nothing
  double reductions = 0;
};

bool watches_loss(const Schedule& schedule);

// Takes note of the loss of step `step`.
void observe(const Schedule& schedule, Plateau& plateau, double step,
             double loss);

}  // namespace braid::passes
