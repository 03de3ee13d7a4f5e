#include "braid/passes/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "braid/base/error.h"
#include "braid/base/text.h"

namespace braid::passes {
namespace {

// Values of a kind: those without a default must be given.
struct Kind {
  std::vector<std::string> needed;
  std::map<std::string, double> defaults;
};

const std::map<std::string, Kind>& kinds() {
  static const std::map<std::string, Kind> table = {
      {"constant", {{}, {}}},
      {"step", {{"step_size"}, {{"gamma", 0.1}}}},
      {"multi_step", {{}, {{"gamma", 0.1}}}},
      {"exponential", {{"gamma"}, {}}},
      {"cosine", {{"steps"}, {{"min_lr", 0}}}},
      {"restarts", {{"period"}, {{"growth", 1}, {"min_lr", 0}}}},
      {"linear", {{"steps"}, {{"start_factor", 1}, {"end_factor", 0}}}},
      {"polynomial", {{"steps"}, {{"power", 1}}}},
      {"one_cycle",
       {{"steps", "max_lr"},
        {{"start_share", 0.3}, {"div", 25}, {"final_div", 1e4}}}},
      {"noam", {{"width", "warmup"}, {}}},
  };
  return table;
}

double value(const Schedule& s, const std::string& name) {
  auto given = s.values.find(name);
  return given != s.values.end() ? given->second
                                 : kinds().at(s.kind).defaults.at(name);
}

// From `high` down to `low` along half a cosine, at `share` of the way.
double cosine(double high, double low, double share) {
  return low + (high - low) * (1 + std::cos(std::numbers::pi * share)) / 2;
}

double cosine_at(const Schedule& s, double lr, double step) {
  double share = std::min(step / value(s, "steps"), 1.0);
  return cosine(lr, value(s, "min_lr"), share);
}

// Each period is `growth` times the one before.
double restarts_at(const Schedule& s, double lr, double step) {
  double period = value(s, "period"), growth = value(s, "growth");
  while (step >= period) {
    step -= period;
    period *= growth;
  }
  return cosine(lr, value(s, "min_lr"), step / period);
}

double linear_at(const Schedule& s, double lr, double step) {
  double share = std::min(step / value(s, "steps"), 1.0);
  double start = value(s, "start_factor"), end = value(s, "end_factor");
  return lr * (start + (end - start) * share);
}

// Up to max_lr for the first share of the steps, then down to almost nothing,
// both along cosines.
double one_cycle_at(const Schedule& s, double step) {
  double most = value(s, "max_lr"), first = most / value(s, "div");
  double last = first / value(s, "final_div");
  double steps = value(s, "steps");
  double top = value(s, "start_share") * steps - 1;
  if (step <= top) return cosine(first, most, top > 0 ? step / top : 1);
  double share = (step - top) / (steps - 1 - top);
  return cosine(most, last, std::min(share, 1.0));
}

double noam_at(const Schedule& s, double lr, double step) {
  double t = step + 1, warmup = value(s, "warmup");
  return lr * std::pow(value(s, "width"), -0.5) *
         std::min(std::pow(t, -0.5), t * std::pow(warmup, -1.5));
}

double rate_at(const Schedule& s, double lr, double step) {
  if (s.kind == "step") {
    return lr * std::pow(value(s, "gamma"),
                         std::floor(step / value(s, "step_size")));
  }
  if (s.kind == "multi_step") {
    auto passed = std::count_if(s.milestones.begin(), s.milestones.end(),
                                [&](double m) { return m <= step; });
    return lr * std::pow(value(s, "gamma"), static_cast<double>(passed));
  }
  if (s.kind == "exponential") return lr * std::pow(value(s, "gamma"), step);
  if (s.kind == "cosine") return cosine_at(s, lr, step);
  if (s.kind == "restarts") return restarts_at(s, lr, step);
  if (s.kind == "linear") return linear_at(s, lr, step);
  if (s.kind == "polynomial") {
    double left = 1 - std::min(step / value(s, "steps"), 1.0);
    return lr * std::pow(left, value(s, "power"));
  }
  if (s.kind == "one_cycle") return one_cycle_at(s, step);
  if (s.kind == "noam") return noam_at(s, lr, step);
  return lr;
}

void check_range(const Schedule& s, const std::string& name, double number) {
  static const std::set<std::string> positive{
      "step_size", "steps", "period", "max_lr", "div", "final_div", "width"};
  bool bad = !std::isfinite(number) || number < 0 ||
             (positive.contains(name) && number == 0) ||
             (name == "growth" && number < 1) ||
             (name == "start_share" && number > 1);
  if (bad)
    fail_usage("[schedule] {}: {} = {} is out of range", s.kind, name, number);
}

}  // namespace

void validate(const Schedule& s) {
  auto at = kinds().find(s.kind);
  if (at == kinds().end()) {
    std::vector<std::string> known;
    for (const auto& [name, unused] : kinds()) known.push_back(name);
    fail_usage("[schedule] unknown kind '{}'\nHINT: did you mean '{}'?", s.kind,
               nearest_name(s.kind, known));
  }
  std::vector<std::string> known{"warmup", "warmup_factor"};
  for (const std::string& name : at->second.needed) {
    known.push_back(name);
    if (s.values.contains(name)) continue;
    fail_usage("[schedule] {} needs the value '{}'", s.kind, name);
  }
  for (const auto& [name, unused] : at->second.defaults) known.push_back(name);
  for (const auto& [name, number] : s.values) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      fail_usage("[schedule] {} has no value '{}'\nHINT: did you mean '{}'?",
                 s.kind, name, nearest_name(name, known));
    }
    check_range(s, name, number);
  }
}

double learning_rate(const Schedule& s, double lr, double step) {
  auto warmup = s.values.find("warmup");
  if (s.kind == "noam" || warmup == s.values.end()) return rate_at(s, lr, step);
  double length = warmup->second;
  if (step >= length) return rate_at(s, lr, step - length);
  auto given = s.values.find("warmup_factor");
  double from = given == s.values.end() ? 0 : given->second;
  return rate_at(s, lr, 0) * (from + (1 - from) * step / length);
}

double Plateau::next(double lr, double metric) {
  double bar =
      larger_is_better ? best * (1 + threshold) : best * (1 - threshold);
  bool better = !has_best || (larger_is_better ? metric > bar : metric < bar);
  if (better) {
    best = metric;
    has_best = true;
    bad = 0;
  } else {
    ++bad;
  }
  if (cooling > 0) {
    --cooling;
    bad = 0;
  }
  if (bad <= patience) return lr;
  cooling = cooldown;
  bad = 0;
  double lower = std::max(lr * factor, min_lr);
  return lr - lower > 1e-8 ? lower : lr;
}

}  // namespace braid::passes
