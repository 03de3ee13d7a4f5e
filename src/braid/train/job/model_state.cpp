#include "braid/train/job/model_state.h"

#include <span>

#include "braid/base/error.h"
#include "braid/base/text.h"
#include "braid/passes/names.h"

namespace braid::train {
namespace {

// Under which name a value of a layer is set for all layers at once.
std::string common_name(const Slot& slot) {
  if (slot.use == SlotUse::kDropoutRate) return "dropout";
  return slot.use == SlotUse::kLabelSmoothing ? "label_smoothing" : "";
}

// The model's tensors, each with the content of the slot that stands for it.
template <class Source>
TensorList collect(const runtime::State& state, int64_t member,
                   const std::string& prefix, const Source& source) {
  TensorList list;
  for (size_t i = 0; i < state.slots().size(); ++i) {
    auto slot = own_slot(state.slots()[i], member, prefix);
    if (!slot) continue;
    list.add_slot(*slot, slot->shape,
                  state.read_member(source(static_cast<SlotId>(i)), member));
  }
  return list;
}

}  // namespace

bool is_of_model(const Slot& slot) {
  return slot.role == Role::kParameter || slot.role == Role::kBuffer;
}

bool is_saved(const Slot& slot) {
  return slot.role != Role::kGradient && slot.role != Role::kConstant;
}

std::optional<Slot> own_slot(const Slot& slot, int64_t member,
                             const std::string& prefix) {
  if (!is_of_model(slot) || !slot.belongs_to(member)) return {};
  Slot own = slot.of_member(member);
  if (!own.name.starts_with(prefix)) return {};
  own.name.erase(0, prefix.size());
  for (std::string& alias : own.aliases) alias.erase(0, prefix.size());
  return own;
}

void set_hyper(runtime::State& state, int64_t member, const std::string& name,
               double value) {
  std::vector<std::string> known;
  bool found = false;
  for (size_t i = 0; i < state.slots().size(); ++i) {
    const Slot& slot = state.slots()[i];
    if (slot.role != Role::kHyper || !slot.belongs_to(member)) continue;
    std::string own = slot.own_name();
    known.push_back(own.substr(passes::hyper_slot("").size()));
    std::string common = common_name(slot);
    if (!common.empty()) known.push_back(common);
    if (name != known.back() && own != passes::hyper_slot(name)) continue;
    state.write_member(static_cast<SlotId>(i), member,
                       std::as_bytes(std::span(&value, 1)));
    found = true;
  }
  if (found) return;
  fail_usage("[member] no value '{}' can be set\nHINT: {}", name,
             name_hint(name, known));
}

TensorList member_state(const runtime::State& state, int64_t member,
                        const std::string& prefix) {
  return collect(state, member, prefix, [](SlotId slot) { return slot; });
}

TensorList member_average(const runtime::State& state, int64_t member,
                          const std::string& prefix) {
  return collect(state, member, prefix, [&](SlotId slot) {
    const Slot& weights = state.slots()[static_cast<size_t>(slot)];
    SlotId average = state.find(passes::state_slot("ema", weights));
    return average == kNone ? slot : average;
  });
}

}  // namespace braid::train
