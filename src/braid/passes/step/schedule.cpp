#include "braid/passes/step/schedule.h"

#include <algorithm>
#include <cmath>

#include "braid/base/call_text.h"
#include "braid/base/text.h"
#include "braid/passes/step/schedule_values.h"

namespace braid::passes {
namespace {

const ScheduleKind& kind_of(const Schedule& s) {
  std::vector<std::string> known;
  for (const ScheduleKind& kind : schedule_kinds()) {
    if (kind.name == s.kind) return kind;
    known.push_back(kind.name);
  }
  fail_usage("[schedule] unknown kind '{}'\nHINT: {}", s.kind,
             name_hint(s.kind, known));
}

bool has_value(const ScheduleKind& kind, const std::string& name) {
  return std::ranges::any_of(
      kind.values, [&](const ScheduleValue& v) { return v.name == name; });
}

// Own values, and those of the warm-up unless a kind warms up by itself.
std::vector<ScheduleValue> all_values(const ScheduleKind& kind) {
  std::vector<ScheduleValue> values = kind.values;
  if (has_value(kind, "warmup")) return values;
  for (const ScheduleValue& value : warmup_values()) values.push_back(value);
  return values;
}

std::string range_text(const ScheduleValue& value) {
  if (std::isfinite(value.high)) {
    return fmt::format("from {} to {}", value.low, value.high);
  }
  return fmt::format("{} {}", value.above_low ? "above" : "at least",
                     value.low);
}

void check_range(const Schedule& s, const ScheduleValue& value, double number) {
  bool low_enough = std::isfinite(number) && number <= value.high;
  bool fits = low_enough &&
              (value.above_low ? number > value.low : number >= value.low);
  if (fits) return;
  fail_usage("[schedule] {}: '{}' must be {}, got {}", s.kind, value.name,
             range_text(value), number);
}

void check_percents(const Schedule& s, const ScheduleValue& value,
                    const std::vector<double>& percents) {
  if (!value.counts_steps) {
    fail_usage("[schedule] {}: '{}' is a number, not a share of the run",
               s.kind, value.name);
  }
  if (!value.is_list && percents.size() != 1) {
    fail_usage("[schedule] {}: '{}' is one number", s.kind, value.name);
  }
  for (double percent : percents) {
    bool is_share = percent >= 0 && percent <= 100;
    if (is_share && (percent > 0 || !value.above_low)) continue;
    fail_usage("[schedule] {}: '{}' must be {} 100% of the run, got {}%",
               s.kind, value.name,
               value.above_low ? "above 0% and up to" : "from 0% to", percent);
  }
}

void check_value(const Schedule& s, const ScheduleValue& value) {
  auto share = s.percents.find(value.name);
  if (share != s.percents.end()) return check_percents(s, value, share->second);
  auto given = s.values.find(value.name);
  if (given == s.values.end()) {
    if (value.value || value.is_length) return;
    fail_usage("[schedule] {} needs the value '{}'\nHINT: write {}", s.kind,
               value.name, signature_text(kind_of(s)));
  }
  if (!value.is_list && given->second.size() != 1) {
    fail_usage("[schedule] {}: '{}' is one number", s.kind, value.name);
  }
  for (double number : given->second) check_range(s, value, number);
}

double warmup_of(const ScheduleKind& kind, const ScheduleValues& values) {
  return has_value(kind, "warmup") ? 0 : values["warmup"];
}

// A loss below this is better than the best.
double bar_of(const ScheduleValues& values, const Plateau& plateau) {
  if (plateau.has_best == 0) return std::numeric_limits<double>::infinity();
  double threshold = values["threshold"];
  return values["absolute"] != 0 ? plateau.best - threshold
                                 : plateau.best * (1 - threshold);
}

}  // namespace

void validate(const Schedule& s) {
  std::vector<std::string> known;
  for (const ScheduleValue& value : all_values(kind_of(s))) {
    known.push_back(value.name);
  }
  for (const auto* given : {&s.values, &s.percents}) {
    for (const auto& [name, unused] : *given) {
      if (std::ranges::find(known, name) != known.end()) continue;
      fail_usage("[schedule] {} has no value '{}'\nHINT: {}", s.kind, name,
                 name_hint(name, known));
    }
  }
  for (const ScheduleValue& value : all_values(kind_of(s))) {
    check_value(s, value);
  }
}

Schedule parse_schedule(std::string_view text) {
  CallText call = parse_call(text, "[schedule]", Percents::kTaken);
  Schedule schedule{call.name};
  for (const CallValue& value : call.values) {
    auto& values = value.is_percent ? schedule.percents : schedule.values;
    values[value.name] = value.numbers;
  }
  validate(schedule);
  for (const ScheduleValue& value : all_values(kind_of(schedule))) {
    for (const CallValue& given : call.values) {
      if (given.name != value.name || given.is_list == value.is_list) continue;
      fail_usage("[schedule] {}: '{}' is {}", schedule.kind, value.name,
                 value.is_list ? "a list: [30,80]" : "one number");
    }
  }
  return schedule;
}

std::string schedule_text(const Schedule& s) {
  CallText call{s.kind};
  for (const ScheduleValue& value : all_values(kind_of(s))) {
    for (const auto* values : {&s.values, &s.percents}) {
      auto given = values->find(value.name);
      if (given == values->end()) continue;
      call.values.push_back(
          {value.name, given->second, value.is_list, values == &s.percents});
    }
  }
  return call_text(call);
}

std::string signature_text(const ScheduleKind& kind) {
  std::string list;
  for (const ScheduleValue& value : kind.values) {
    std::string text = value.name;
    if (value.value) text += fmt::format("={}", *value.value);
    if (value.is_list) text += "=[...]";
    list += (list.empty() ? "" : ",") + text;
  }
  return list.empty() ? kind.name : fmt::format("{}({})", kind.name, list);
}

bool needs_length(const Schedule& s) {
  if (!s.percents.empty()) return true;
  return std::ranges::any_of(kind_of(s).values, [&](const ScheduleValue& v) {
    return v.is_length && !s.values.contains(v.name);
  });
}

Schedule for_length(Schedule s, int64_t num_steps) {
  const ScheduleKind& kind = kind_of(s);
  auto length = static_cast<double>(num_steps);
  for (const ScheduleValue& value : all_values(kind)) {
    auto share = s.percents.find(value.name);
    if (share == s.percents.end()) continue;
    for (double percent : share->second) {
      double steps = std::round(percent * length / 100);
      s.values[value.name].push_back(
          std::max(steps, value.above_low ? 1.0 : 0.0));
    }
  }
  s.percents.clear();
  double warmup = warmup_of(kind, ScheduleValues(kind, s));
  for (const ScheduleValue& value : kind.values) {
    if (!value.is_length || s.values.contains(value.name)) continue;
    // A run that is shorter than its warm-up ends within it.
    s.values[value.name] = {std::max(length - warmup, 1.0)};
  }
  return s;
}

double learning_rate(const Schedule& s, double lr, const Moment& at) {
  const ScheduleKind& kind = kind_of(s);
  ScheduleValues values(kind, s);
  double warmup = warmup_of(kind, values);
  Moment later{at.step - warmup, at.reductions};
  if (at.step >= warmup) return kind.rate(values, lr, later);
  double from = values["warmup_factor"];
  return kind.rate(values, lr, {}) * (from + (1 - from) * at.step / warmup);
}

bool watches_loss(const Schedule& s) { return kind_of(s).watches_loss; }

void observe(const Schedule& s, Plateau& plateau, double step, double loss) {
  const ScheduleKind& kind = kind_of(s);
  ScheduleValues values(kind, s);
  if (!kind.watches_loss || step < values["warmup"]) return;
  bool better = loss < bar_of(values, plateau);
  if (better) plateau.best = loss, plateau.has_best = 1;
  plateau.bad = better ? 0 : plateau.bad + 1;
  if (plateau.cooling > 0) {
    --plateau.cooling;
    plateau.bad = 0;
  }
  if (plateau.bad <= values["patience"]) return;
  plateau.cooling = values["cooldown"];
  plateau.bad = 0;
  ++plateau.reductions;
}

}  // namespace braid::passes
