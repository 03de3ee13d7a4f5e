// Names that passes and runtime agree on. Slots that do not belong to the
// model have a '/' in their name, which no PyTorch name has.
#pragma once

#include <string>
#include <string_view>

namespace braid::passes {

// Input: index of the micro-batch within the step, one i64 for all members.
inline constexpr const char* kMicroInput = "/micro";

// Counters of a member.
inline constexpr const char* kSeedSlot = "counter/seed";
inline constexpr const char* kStepSlot = "counter/step";
inline constexpr const char* kUpdateSlot = "counter/update";

// Hyper-parameters of a member: "hyper/lr", and "hyper/fc1.p" of a layer.
inline std::string hyper_slot(std::string_view name) {
  return "hyper/" + std::string(name);
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

inline std::string gradient_slot(std::string_view name) {
  return "gradient/" + std::string(name);
}

}  // namespace braid::passes
