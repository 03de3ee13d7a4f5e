// Optimizers by name and value, before they are part of a graph.
#include <algorithm>

#include "braid/base/text.h"
#include "braid/ops/core/update_kinds.h"
#include "braid/passes/step/loss_scale.h"
#include "braid/passes/step/optimizer.h"

namespace braid::passes {
namespace {

bool is_flag(const UpdateKind& kind, const std::string& name) {
  for (const auto& [flag, unused] : kind.flags) {
    if (flag == name) return true;
  }
  return false;
}

std::vector<std::string> known_options(const Optimizer& optimizer) {
  std::vector<std::string> known{"clip_norm", "clip_value", "ema_decay",
                                 "skip_nonfinite", "loss_scale"};
  for (const auto& [flag, unused] : find_kind(optimizer.kind).flags) {
    known.push_back(flag);
  }
  for (const auto& [name, unused] : optimizer.hyper) known.push_back(name);
  return known;
}

}  // namespace

const UpdateKind& find_kind(const std::string& name) {
  if (const UpdateKind* kind = find_update_kind(name)) return *kind;
  std::vector<std::string> known;
  for (const UpdateKind& kind : update_kinds()) known.push_back(kind.name);
  fail_usage("[optimizer] unknown kind '{}'\nHINT: {}", name,
             name_hint(name, known));
}

Optimizer make_optimizer(const std::string& kind) {
  Optimizer optimizer{.kind = kind, .hyper = {}};
  for (const auto& [name, value] : find_kind(kind).values) {
    optimizer.hyper[name] = value;
  }
  return optimizer;
}

void set_option(Optimizer& optimizer, const std::string& name, double value) {
  const UpdateKind& kind = find_kind(optimizer.kind);
  bool flag = is_flag(kind, name);
  if (optimizer.hyper.contains(name)) {
    optimizer.hyper[name] = value;
    if (flag && value != 0) optimizer.flags.insert(name);
  } else if (flag) {
    value != 0 ? void(optimizer.flags.insert(name))
               : void(optimizer.flags.erase(name));
  } else if (name == "skip_nonfinite") {
    optimizer.skip_nonfinite = value != 0;
    if (value != 0) optimizer.hyper[name] = value;
  } else if (is_loss_scale_option(name)) {
    set_loss_scale_option(optimizer, name, value);
  } else if (name == "clip_norm" || name == "clip_value" ||
             name == "ema_decay") {
    optimizer.hyper[name] = value;
    optimizer.clip = optimizer.clip || name == "clip_norm";
    optimizer.clip_each = optimizer.clip_each || name == "clip_value";
    optimizer.average = optimizer.average || name == "ema_decay";
  } else {
    fail_usage("[optimizer] {} has no value '{}'\nHINT: {}", optimizer.kind,
               name, name_hint(name, known_options(optimizer)));
  }
}

void add_group(Optimizer& optimizer, const ParameterGroup& group) {
  const UpdateKind& kind = find_kind(optimizer.kind);
  std::vector<std::string> known;
  if (optimizer.clip_each) known.push_back("clip_value");
  for (const auto& [name, unused] : kind.values) known.push_back(name);
  for (const auto& [name, value] : group.values) {
    if (std::ranges::find(known, name) == known.end()) {
      fail_usage(
          "[optimizer] group '{}': {} has no value '{}' for a group\n"
          "HINT: {}",
          group.pattern, kind.name, name, name_hint(name, known));
    }
    if (is_flag(kind, name) && value != 0) optimizer.flags.insert(name);
  }
  optimizer.groups.push_back(group);
}

}  // namespace braid::passes
