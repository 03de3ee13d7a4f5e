// The table of schedules and their formulas.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "braid/passes/step/schedule_values.h"

namespace braid::passes {
namespace {

using Values = ScheduleValues;

// From `first` to `last` along half a cosine, at `share` of the way.
double cosine(double first, double last, double share) {
  return last + (first - last) * (1 + std::cos(std::numbers::pi * share)) / 2;
}

// The share of `steps` that is over.
double share_of(const Values& v, const Moment& at) {
  return std::min(at.step / v["steps"], 1.0);
}

double constant(const Values&, double lr, const Moment&) { return lr; }

double step(const Values& v, double lr, const Moment& at) {
  return lr * std::pow(v["gamma"], std::floor(at.step / v["step_size"]));
}

double multi_step(const Values& v, double lr, const Moment& at) {
  auto passed = std::ranges::count_if(v.list("milestones"),
                                      [&](double m) { return m <= at.step; });
  return lr * std::pow(v["gamma"], static_cast<double>(passed));
}

double exponential(const Values& v, double lr, const Moment& at) {
  return lr * std::pow(v["gamma"], at.step);
}

// As in torch, it swings back after its end.
double cosine_once(const Values& v, double lr, const Moment& at) {
  return cosine(lr, v["min_lr"], at.step / v["steps"]);
}

// Each period is `growth` times the one before.
double restarts(const Values& v, double lr, const Moment& at) {
  double period = v["period"], growth = v["growth"], step = at.step;
  if (growth == 1) step = std::fmod(step, period);
  while (step >= period) {
    step -= period;
    period *= growth;
  }
  return cosine(lr, v["min_lr"], step / period);
}

double linear(const Values& v, double lr, const Moment& at) {
  double first = v["start_factor"], last = v["end_factor"];
  return lr * (first + (last - first) * share_of(v, at));
}

double polynomial(const Values& v, double lr, const Moment& at) {
  return lr * std::pow(1 - share_of(v, at), v["power"]);
}

// Up to the base rate for the first share of the steps, then down to almost
// nothing, both along cosines.
double one_cycle(const Values& v, double lr, const Moment& at) {
  double first = lr / v["div"], last = first / v["final_div"];
  double top = v["start_share"] * v["steps"] - 1, end = v["steps"] - 1;
  if (at.step <= top) return cosine(first, lr, top > 0 ? at.step / top : 1);
  if (at.step >= end) return last;
  return cosine(lr, last, (at.step - top) / (end - top));
}

double noam(const Values& v, double lr, const Moment& at) {
  double t = at.step + 1;
  return lr / std::sqrt(v["width"]) *
         std::min(1 / std::sqrt(t), t * std::pow(v["warmup"], -1.5));
}

double plateau(const Values& v, double lr, const Moment& at) {
  for (double i = 0; i < at.reductions; ++i) {
    double lower = std::max(lr * v["factor"], v["min_lr"]);
    if (!(lr - lower > v["eps"])) break;
    lr = lower;
  }
  return lr;
}

ScheduleValue positive(const char* name, std::optional<double> value = {}) {
  return {.name = name, .value = value, .above_low = true};
}

ScheduleValue number(const char* name, double value) {
  return {.name = name, .value = value};
}

// Numbers of steps.
ScheduleValue steps(ScheduleValue value) {
  value.counts_steps = true;
  return value;
}

ScheduleValue length() {
  return {.name = "steps",
          .above_low = true,
          .counts_steps = true,
          .is_length = true};
}

}  // namespace

const std::vector<ScheduleKind>& schedule_kinds() {
  static const std::vector<ScheduleKind> kinds = {
      {"constant", {}, constant, "the base rate"},
      {"step",
       {steps(positive("step_size")), number("gamma", 0.1)},
       step,
       "times gamma every step_size steps"},
      {"multi_step",
       {steps({.name = "milestones", .is_list = true}), number("gamma", 0.1)},
       multi_step,
       "times gamma at each milestone"},
      {"exponential",
       {{.name = "gamma"}},
       exponential,
       "times gamma at every step"},
      {"cosine",
       {length(), number("min_lr", 0)},
       cosine_once,
       "down to min_lr along half a cosine, up again after it"},
      {"restarts",
       {steps(positive("period")),
        {.name = "growth", .value = 1, .low = 1},
        number("min_lr", 0)},
       restarts,
       "cosines, each growth times as long as the one before"},
      {"linear",
       {length(), number("start_factor", 1), number("end_factor", 0)},
       linear,
       "from one factor to another in a straight line"},
      {"polynomial",
       {length(), number("power", 1)},
       polynomial,
       "down to 0 by a power of what is left"},
      {"one_cycle",
       {length(),
        {.name = "start_share", .value = 0.3, .high = 1},
        positive("div", 25),
        positive("final_div", 1e4)},
       one_cycle,
       "up from lr / div, then down to lr / div / final_div"},
      {"noam",
       {positive("width"), steps(positive("warmup"))},
       noam,
       "lr * width^-0.5 * min(t^-0.5, t * warmup^-1.5)"},
      {"plateau",
       {number("factor", 0.1),
        steps(number("patience", 10)),
        number("threshold", 1e-4),
        steps(number("cooldown", 0)),
        number("min_lr", 0),
        number("eps", 1e-8),
        {.name = "absolute", .value = 0, .high = 1}},
       plateau,
       "times factor when the loss stops falling",
       true},
  };
  return kinds;
}

const std::vector<ScheduleValue>& warmup_values() {
  static const std::vector<ScheduleValue> values = {steps(number("warmup", 0)),
                                                    number("warmup_factor", 0)};
  return values;
}

}  // namespace braid::passes
