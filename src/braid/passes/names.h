// Names that passes and runtime agree on. Slots that do not belong to the
// model have a '/' in their name, which no PyTorch name has.
#pragma once

#include <string>
#include <string_view>

#include "braid/graph/slot.h"

namespace braid::passes {

// Input: index of the micro-batch within the step, one i64 for all members.
inline constexpr const char* kMicroInput = "/micro";

// Counters of a member.
inline constexpr const char* kSeedSlot = "counter/seed";
inline constexpr const char* kStepSlot = "counter/step";
inline constexpr const char* kUpdateSlot = "counter/update";

// Whether a member of an array steps with the others: 1, or 0 while it pauses.
inline constexpr const char* kActiveSlot = "array/active";

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

// "hyper/fc1.p" holds the rate of a layer that drops, "hyper/fc1.p2" that of
// one with two rates.
inline bool is_dropout_rate(const Slot& slot) {
  size_t at = slot.name.rfind(".p");
  return slot.role == Role::kHyper && at != slot.name.npos &&
         slot.name.find_first_not_of("0123456789", at + 2) == slot.name.npos;
}

// What schedules make of a rate: "schedule/lr", which updates then read in
// place of "hyper/lr".
inline std::string schedule_slot(std::string_view name) {
  return "schedule/" + std::string(name);
}

// What reduce-on-plateau remembers of a member: the fields of Plateau.
inline constexpr const char* kPlateauSlot = "schedule/plateau";
inline constexpr int kPlateauNumbers = 5;

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
