// Names that passes and runtime agree on, besides those of slot_use.h.
#pragma once

#include <string>
#include <string_view>

#include "braid/graph/slot_use.h"

namespace braid::passes {

// Input: index of the micro-batch within the step, one i64 for all members.
inline constexpr const char* kMicroInput = "/micro";

using braid::kActiveSlot;
using braid::kPlateauSlot;
using braid::kSeedSlot;
using braid::kStepSlot;
using braid::kUpdateSlot;

// Names of one of several optimizers of a model: "hyper/generator/lr". The
// only one has no scope.
inline std::string scoped(std::string_view name, std::string_view scope) {
  if (scope.empty()) return std::string(name);
  size_t begin = name.find('/') + 1;
  return std::string(name.substr(0, begin)) + std::string(scope) + "/" +
         std::string(name.substr(begin));
}

// Hyper-parameters of a member: "hyper/lr", and "hyper/fc1.p" of a layer.
inline std::string hyper_slot(std::string_view name) {
  return "hyper/" + std::string(name);
}

// What schedules make of a rate: "schedule/lr", which updates then read in
// place of "hyper/lr".
inline std::string schedule_slot(std::string_view name) {
  return "schedule/" + std::string(name);
}

// Where the rate lies that a scheduled one is made from.
inline std::string base_of_rate(const Slot& scheduled) {
  return hyper_slot(
      std::string_view(scheduled.name).substr(schedule_slot("").size()));
}

// Whether a slot that schedules write is of that one of several optimizers.
inline bool is_in_scope(const Slot& scheduled, std::string_view scope) {
  return scheduled.name.starts_with(scoped(schedule_slot(""), scope));
}

inline constexpr int kPlateauNumbers = 5;  // of the fields of Plateau

// Optimizer state of a parameter: "optimizer/exp_avg/fc1.weight".
inline std::string state_slot(std::string_view kind, std::string_view name) {
  return "optimizer/" + std::string(kind) + "/" + std::string(name);
}

// The same by the slot itself, which may be one member's.
inline std::string state_slot(std::string_view kind, const Slot& parameter) {
  std::string own = state_slot(kind, parameter.own_name());
  if (parameter.owner() == kAllMembers) return own;
  return member_prefix(parameter.owner()) + own;
}

inline std::string gradient_slot(std::string_view name) {
  return "gradient/" + std::string(name);
}

}  // namespace braid::passes
