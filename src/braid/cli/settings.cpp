#include "braid/cli/settings.h"

#include <algorithm>

#include "braid/base/error.h"
#include "braid/base/numbers.h"
#include "braid/base/text.h"
#include "braid/graph/init.h"
#include "braid/ops/core/update_kinds.h"
#include "braid/passes/names.h"
#include "braid/passes/step/option_range.h"

namespace braid::cli {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

passes::Range range_of(const std::string& name, SlotUse use) {
  if (use == SlotUse::kLabelSmoothing) return {.low = 0, .high = 1};
  if (use == SlotUse::kDropoutRate) {
    return {.low = 0, .high = 1, .with_high = false};
  }
  return passes::option_range(name);
}

double read_flag(const Setting& s) {
  if (auto flag = parse_flag(s.text)) return *flag ? 1 : 0;
  fail_usage("{}: '{}' is true or false, not '{}'", s.where, s.name, s.text);
}

double read_number(const Setting& s, SlotUse use) {
  auto number = parse_number(s.text);
  if (!number) {
    fail_usage("{}: '{}' is a number, not '{}'", s.where, s.name, s.text);
  }
  passes::Range range = range_of(s.name, use);
  if (!range.holds(*number)) {
    fail_usage("{}: '{}' must be {}, got {}", s.where, s.name, range.text(),
               s.text);
  }
  return *number;
}

std::vector<std::string> number_names(const passes::Optimizer& optimizer) {
  std::vector<std::string> names{
      "clip_norm",     "clip_value",     "ema_decay",      "loss_scale",
      "growth_factor", "backoff_factor", "growth_interval"};
  for (const auto& [name, unused] : optimizer.hyper) names.push_back(name);
  return names;
}

// Switches of the optimizer; a value that also brings state is no switch.
std::vector<std::string> switch_names(const passes::Optimizer& optimizer) {
  std::vector<std::string> names{"skip_nonfinite"};
  for (const auto& [flag, unused] : find_update_kind(optimizer.kind)->flags) {
    if (!optimizer.hyper.contains(flag)) names.push_back(flag);
  }
  return names;
}

// Values of layers, and the names under which all layers have them.
std::map<std::string, SlotUse> values_of(const Graph& forward) {
  std::map<std::string, SlotUse> values;
  size_t prefix = passes::hyper_slot("").size();
  for (const Slot& slot : forward.slots()) {
    if (slot.role != Role::kHyper || slot.name.size() <= prefix) continue;
    values[slot.name.substr(prefix)] = slot.use;
    if (slot.use == SlotUse::kDropoutRate) values["dropout"] = slot.use;
    if (slot.use == SlotUse::kLabelSmoothing) {
      values["label_smoothing"] = slot.use;
    }
  }
  return values;
}

}  // namespace

Setting parse_setting(const std::string& text) {
  size_t equals = text.find('=');
  if (equals == text.npos || equals == 0) {
    fail_usage("[set] cannot read '--set {}'\nHINT: write --set NAME=VALUE",
               text);
  }
  return {text.substr(0, equals), text.substr(equals + 1),
          "[set] --set " + text};
}

GroupSetting parse_group(const std::string& text) {
  std::string where = "[group] --group '" + text + "'";
  size_t colon = text.rfind(':');
  if (colon == text.npos || colon == 0) {
    fail_usage("{} cannot be read\nHINT: write --group 'PATTERN: NAME=VALUE'",
               where);
  }
  GroupSetting group{text.substr(0, colon), {}};
  std::string rest = text.substr(colon + 1);
  std::erase(rest, ' ');
  for (size_t from = 0; from <= rest.size();) {
    size_t end = std::min(rest.find(',', from), rest.size());
    std::string item = rest.substr(from, end - from);
    size_t equals = item.find('=');
    if (equals == item.npos || equals == 0) {
      fail_usage("{}: '{}' is no NAME=VALUE", where, item);
    }
    group.values.push_back(
        {item.substr(0, equals), item.substr(equals + 1), where});
    from = end + 1;
  }
  return group;
}

InitSetting parse_init_setting(const std::string& text) {
  size_t equals = text.find('=');
  size_t open = text.find('(');
  if (equals == text.npos || equals == 0 || open < equals) {
    fail_usage(
        "[init] cannot read '--init-weights {}'\n"
        "HINT: write --init-weights 'PATTERN=xavier_uniform(gain=1)'",
        text);
  }
  return {text.substr(0, equals), parse_init(text.substr(equals + 1))};
}

KnownValues::KnownValues(const passes::Optimizer& optimizer,
                         const Graph& forward)
    : numbers_(number_names(optimizer)),
      switches_(switch_names(optimizer)),
      model_numbers_(values_of(forward)) {}

bool KnownValues::is_of_optimizer(const std::string& name) const {
  return contains(numbers_, name) || is_switch(name);
}

bool KnownValues::is_switch(const std::string& name) const {
  return contains(switches_, name);
}

double KnownValues::read(const Setting& s,
                         const std::vector<std::string>& other_names) const {
  if (is_switch(s.name)) return read_flag(s);
  auto of_model = model_numbers_.find(s.name);
  if (of_model != model_numbers_.end()) return read_number(s, of_model->second);
  if (contains(numbers_, s.name)) return read_number(s, SlotUse::kGeneral);
  if (s.name == "dropout") {
    fail_usage(
        "{}: the model has no dropout layers\n"
        "HINT: a built-in model has them when made so: mlp(dropout=0.1)",
        s.where);
  }
  std::vector<std::string> known = other_names;
  for (const auto* names : {&numbers_, &switches_}) {
    known.insert(known.end(), names->begin(), names->end());
  }
  for (const auto& [name, use] : model_numbers_) known.push_back(name);
  fail_usage("{}: there is no value '{}'\nHINT: {}", s.where, s.name,
             name_hint(s.name, known));
}

}  // namespace braid::cli
