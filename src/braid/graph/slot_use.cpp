#include "braid/graph/slot_use.h"

#include <algorithm>
#include <iterator>

namespace braid {
namespace {

struct Row {
  std::string_view name;
  SlotUse use;
};

constexpr Row kNames[] = {
    {"general", SlotUse::kGeneral},
    {"dropout_rate", SlotUse::kDropoutRate},
    {"label_smoothing", SlotUse::kLabelSmoothing},
    {"seed", SlotUse::kSeed},
    {"step", SlotUse::kStep},
    {"update_count", SlotUse::kUpdateCount},
    {"active_mask", SlotUse::kActiveMask},
    {"loss_scale", SlotUse::kLossScale},
    {"loss_scale_growth", SlotUse::kLossScaleGrowth},
    {"scheduled_rate", SlotUse::kScheduledRate},
    {"plateau", SlotUse::kPlateau},
    {"average", SlotUse::kAverage},
};

// Slots of these names, in the scope of whatever optimizer.
constexpr Row kCounters[] = {
    {kSeedSlot, SlotUse::kSeed},
    {kStepSlot, SlotUse::kStep},
    {kUpdateSlot, SlotUse::kUpdateCount},
    {kLossFactorSlot, SlotUse::kLossScale},
    {kLossGrowthSlot, SlotUse::kLossScaleGrowth},
    {kActiveSlot, SlotUse::kActiveMask},
    {kPlateauSlot, SlotUse::kPlateau},
};

// Whether a name ends with `word`, or with that and a number.
bool ends_with_counted(std::string_view name, std::string_view word) {
  size_t at = name.rfind(word);
  return at != name.npos &&
         name.find_first_not_of("0123456789", at + word.size()) == name.npos;
}

SlotUse use_of_counter(std::string_view name) {
  std::string_view kind = name.substr(0, name.find('/') + 1);
  std::string_view last = name.substr(name.rfind('/') + 1);
  for (const Row& row : kCounters) {
    if (row.name.starts_with(kind) && row.name.substr(kind.size()) == last) {
      return row.use;
    }
  }
  return kind == "schedule/" ? SlotUse::kScheduledRate : SlotUse::kGeneral;
}

// A ':' begins the pattern of parameters that a value is for.
SlotUse use_of_hyper(std::string_view name) {
  if (name.find(':') != name.npos) return SlotUse::kGeneral;
  if (ends_with_counted(name, ".p")) return SlotUse::kDropoutRate;
  if (ends_with_counted(name, "label_smoothing")) {
    return SlotUse::kLabelSmoothing;
  }
  return SlotUse::kGeneral;
}

}  // namespace

std::string_view use_name(SlotUse use) {
  return std::ranges::find(kNames, use, &Row::use)->name;
}

std::optional<SlotUse> find_use(std::string_view name) {
  const auto* row = std::ranges::find(kNames, name, &Row::name);
  return row == std::end(kNames) ? std::nullopt : std::optional(row->use);
}

SlotUse use_of_name(std::string_view own_name, Role role) {
  if (own_name.find('/') == own_name.npos) return SlotUse::kGeneral;
  if (role == Role::kHyper) return use_of_hyper(own_name);
  if (role == Role::kCounter) return use_of_counter(own_name);
  bool is_average =
      role == Role::kOptimizer && own_name.starts_with("optimizer/ema/");
  return is_average ? SlotUse::kAverage : SlotUse::kGeneral;
}

}  // namespace braid
