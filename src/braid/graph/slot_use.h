// Names of slots that no model has, and what they say about the use of a slot
// where nothing else does: in the text of a graph and in files. Such names
// have a '/', which no PyTorch name has.
#pragma once

#include <optional>
#include <string_view>

#include "braid/graph/slot.h"

namespace braid {

// Counters of a member.
inline constexpr const char* kSeedSlot = "counter/seed";
inline constexpr const char* kStepSlot = "counter/step";
inline constexpr const char* kUpdateSlot = "counter/update";
inline constexpr const char* kLossFactorSlot = "counter/loss_scale";
inline constexpr const char* kLossGrowthSlot = "counter/loss_scale_growth";

// Whether a member of an array steps with the others: 1, or 0 while it pauses.
inline constexpr const char* kActiveSlot = "array/active";

// What reduce-on-plateau remembers of a member: the fields of Plateau.
inline constexpr const char* kPlateauSlot = "schedule/plateau";

// "dropout_rate"
std::string_view use_name(SlotUse use);
std::optional<SlotUse> find_use(std::string_view name);

// The use of a slot that its members know by this name. A name between two
// '/' is one of several optimizers: "schedule/generator/lr".
SlotUse use_of_name(std::string_view own_name, Role role);

}  // namespace braid
