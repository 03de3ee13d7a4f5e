#include "braid/cli/settings.h"

#include <algorithm>
#include <cmath>

#include "braid/base/error.h"
#include "braid/base/text.h"
#include "braid/cli/numbers.h"
#include "braid/passes/names.h"

namespace braid::cli {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_flag(const std::string& name) {
  return name == "nesterov" || name == "skip_nonfinite";
}

bool is_probability(const std::string& name) {
  return name == "dropout" || name.ends_with(".p");
}

struct Range {
  double low = -kInf;
  double high = kInf;
  bool with_low = true;
  bool with_high = true;

  bool holds(double value) const {
    return (value > low || (with_low && value == low)) &&
           (value < high || (with_high && value == high));
  }
  std::string text() const {
    if (high == kInf) {
      return fmt::format("{} {}", with_low ? "at least" : "above", low);
    }
    return fmt::format("from {} to {}{}", low, with_high ? "" : "below ", high);
  }
};

Range range_of(const std::string& name) {
  if (is_probability(name) || name == "beta1" || name == "beta2") {
    return {.low = 0, .high = 1, .with_high = false};
  }
  if (name == "clip_norm") return {.low = 0, .with_low = false};
  if (name == "dampening") return {};
  return {.low = 0};
}

double read_value(const Setting& s) {
  if (is_flag(s.name)) {
    if (auto flag = parse_flag(s.text)) return *flag ? 1 : 0;
    fail_usage("[set] {}: '{}' is true or false, not '{}'", s.where, s.name,
               s.text);
  }
  auto number = parse_number(s.text);
  if (!number) {
    fail_usage("[set] {}: '{}' is a number, not '{}'", s.where, s.name, s.text);
  }
  Range range = range_of(s.name);
  if (std::isnan(*number) || !range.holds(*number)) {
    fail_usage("[set] {}: '{}' must be {}, got {}", s.where, s.name,
               range.text(), s.text);
  }
  return *number;
}

std::vector<std::string> names_of(const passes::Optimizer& optimizer) {
  std::vector<std::string> names{"clip_norm", "skip_nonfinite"};
  if (optimizer.kind == "sgd") names.push_back("nesterov");
  for (const auto& [name, unused] : optimizer.hyper) names.push_back(name);
  return names;
}

std::vector<std::string> names_of(const Graph& forward) {
  std::vector<std::string> names;
  size_t prefix = passes::hyper_slot("").size();
  bool any_dropout = false;
  for (const Slot& slot : forward.slots()) {
    if (slot.role != Role::kHyper || slot.name.size() <= prefix) continue;
    names.push_back(slot.name.substr(prefix));
    any_dropout = any_dropout || is_probability(names.back());
  }
  if (any_dropout) names.push_back("dropout");
  return names;
}

}  // namespace

Setting parse_setting(const std::string& text) {
  size_t equals = text.find('=');
  if (equals == text.npos || equals == 0) {
    fail_usage("[set] cannot read '--set {}'\nHINT: write --set NAME=VALUE",
               text);
  }
  return {text.substr(0, equals), text.substr(equals + 1), "--set " + text};
}

KnownValues::KnownValues(const passes::Optimizer& optimizer,
                         const Graph& forward)
    : optimizer_names_(names_of(optimizer)), model_names_(names_of(forward)) {}

bool KnownValues::is_of_optimizer(const std::string& name) const {
  return contains(optimizer_names_, name);
}

double KnownValues::read(const Setting& s,
                         const std::vector<std::string>& other_names) const {
  if (is_of_optimizer(s.name) || contains(model_names_, s.name)) {
    return read_value(s);
  }
  if (s.name == "dropout") {
    fail_usage(
        "[set] {}: the model has no dropout layers\n"
        "HINT: a built-in model has them when made so: mlp(dropout=0.1)",
        s.where);
  }
  std::vector<std::string> known = optimizer_names_;
  known.insert(known.end(), model_names_.begin(), model_names_.end());
  known.insert(known.end(), other_names.begin(), other_names.end());
  fail_usage("[set] {}: there is no value '{}'\nHINT: did you mean '{}'?",
             s.where, s.name, nearest_name(s.name, known));
}

}  // namespace braid::cli
