#include "braid/runtime/kernels/cpu/fusion_plan.h"

#include <algorithm>

namespace braid::runtime {
namespace {

using Kind = FusionInstruction::Kind;
using PlaceKind = FusionPlace::Kind;

class Planner {
 public:
  Planner(const Fusion& fusion, const FusionScratch& memory)
      : fusion_(fusion),
        memory_(memory),
        inputs_(memory.is_plain.size()),
        steps_(fusion.steps.size()) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      inputs_[i].place = {PlaceKind::kInput, i};
    }
    for (size_t k = 0; k < fusion.steps.size(); ++k) {
      for (const FusionOperand& operand : fusion.steps[k].operands) {
        value_of(operand).last_read = k;
      }
    }
  }

  FusionPlan run() {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (memory_.is_steady[i]) gather(i);
    }
    for (size_t k = 0; k < fusion_.steps.size(); ++k) compute(k);
    for (const FusionInstruction& store : stores_) {
      plan_.instructions.push_back(store);
    }
    return std::move(plan_);
  }

 private:
  struct Value {
    FusionPlace place = {};
    size_t last_read = 0;
    bool gathered = false;
    bool stays = false;  // in its register
  };

  Value& value_of(const FusionOperand& operand) {
    return operand.is_step ? steps_[operand.index] : inputs_[operand.index];
  }

  void compute(size_t k) {
    const FusionStep& step = fusion_.steps[k];
    FusionInstruction next{.kind = Kind::kCompute, .step = k};
    for (const FusionOperand& operand : step.operands) {
      if (!operand.is_step) gather(operand.index);
      next.from.push_back(value_of(operand).place);
    }
    // A step may write where its operands lie: it goes element by element.
    for (const FusionOperand& operand : step.operands) release(operand, k);
    next.to = steps_[k].place = place_for(k);
    plan_.instructions.push_back(std::move(next));
    bool is_lost = steps_[k].last_read == 0 && !steps_[k].stays;
    if (is_lost) free(steps_[k].place);
  }

  void gather(size_t input) {
    Value& value = inputs_[input];
    if (memory_.is_plain[input] || value.gathered) return;
    value.gathered = true;
    value.stays = memory_.is_steady[input];
    value.place = take_register();
    (value.stays ? plan_.first : plan_.instructions)
        .push_back({.kind = Kind::kGather, .step = input, .to = value.place});
  }

  FusionPlace place_for(size_t k) {
    auto output = std::ranges::find(fusion_.outputs, k);
    if (output == fusion_.outputs.end()) return take_register();
    FusionPlace direct{PlaceKind::kOutput,
                       static_cast<size_t>(output - fusion_.outputs.begin())};
    if (!is_read_after(direct.index, k)) return direct;
    steps_[k].stays = true;
    FusionPlace held = take_register();
    stores_.push_back(
        {.kind = Kind::kStore, .step = k, .to = direct, .from = {held}});
    return held;
  }

  // Whether a later step reads an input in the memory of the output.
  bool is_read_after(size_t output, size_t k) const {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (memory_.shared[output][i] && inputs_[i].last_read > k) return true;
    }
    return false;
  }

  void release(const FusionOperand& operand, size_t k) {
    const Value& value = value_of(operand);
    if (value.last_read == k && !value.stays) free(value.place);
  }

  FusionPlace take_register() {
    auto at = std::ranges::find(taken_, false);
    auto index = static_cast<size_t>(at - taken_.begin());
    if (at == taken_.end()) taken_.push_back(true);
    taken_[index] = true;
    plan_.num_registers = taken_.size();
    return {PlaceKind::kRegister, index};
  }

  void free(const FusionPlace& place) {
    if (place.kind == PlaceKind::kRegister) taken_[place.index] = false;
  }

  const Fusion& fusion_;
  const FusionScratch& memory_;
  std::vector<Value> inputs_, steps_;
  std::vector<bool> taken_;  // by register
  std::vector<FusionInstruction> stores_;
  FusionPlan plan_;
};

}  // namespace

FusionPlan plan_fusion(const Fusion& fusion, const FusionScratch& memory) {
  return Planner(fusion, memory).run();
}

}  // namespace braid::runtime
