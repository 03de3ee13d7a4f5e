#include "braid/runtime/kernels/cpu/chain_plan.h"

#include <algorithm>

namespace braid::runtime {
namespace {

using Kind = ChainInstruction::Kind;
using PlaceKind = ChainPlace::Kind;

class Planner {
 public:
  Planner(const Chain& chain, const ChainMemory& memory)
      : chain_(chain),
        memory_(memory),
        inputs_(memory.is_plain.size()),
        steps_(chain.steps.size()) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      inputs_[i].place = {PlaceKind::kInput, i};
    }
    for (size_t k = 0; k < chain.steps.size(); ++k) {
      for (const ChainOperand& operand : chain.steps[k].operands) {
        value_of(operand).last_read = k;
      }
    }
  }

  ChainPlan run() {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (memory_.is_steady[i]) gather(i);
    }
    for (size_t k = 0; k < chain_.steps.size(); ++k) compute(k);
    for (const ChainInstruction& store : stores_) {
      plan_.instructions.push_back(store);
    }
    return std::move(plan_);
  }

 private:
  struct Value {
    ChainPlace place = {};
    size_t last_read = 0;
    bool gathered = false;
    bool stays = false;  // in its register
  };

  Value& value_of(const ChainOperand& operand) {
    return operand.is_step ? steps_[operand.index] : inputs_[operand.index];
  }

  void compute(size_t k) {
    const ChainStep& step = chain_.steps[k];
    ChainInstruction next{.kind = Kind::kCompute, .step = k};
    for (const ChainOperand& operand : step.operands) {
      if (!operand.is_step) gather(operand.index);
      next.from.push_back(value_of(operand).place);
    }
    // A step may write where its operands lie: it goes element by element.
    for (const ChainOperand& operand : step.operands) release(operand, k);
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

  ChainPlace place_for(size_t k) {
    auto output = std::ranges::find(chain_.outputs, k);
    if (output == chain_.outputs.end()) return take_register();
    ChainPlace direct{PlaceKind::kOutput,
                      static_cast<size_t>(output - chain_.outputs.begin())};
    if (!is_read_after(direct.index, k)) return direct;
    steps_[k].stays = true;
    ChainPlace held = take_register();
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

  void release(const ChainOperand& operand, size_t k) {
    const Value& value = value_of(operand);
    if (value.last_read == k && !value.stays) free(value.place);
  }

  ChainPlace take_register() {
    auto at = std::ranges::find(taken_, false);
    auto index = static_cast<size_t>(at - taken_.begin());
    if (at == taken_.end()) taken_.push_back(true);
    taken_[index] = true;
    plan_.num_registers = taken_.size();
    return {PlaceKind::kRegister, index};
  }

  void free(const ChainPlace& place) {
    if (place.kind == PlaceKind::kRegister) taken_[place.index] = false;
  }

  const Chain& chain_;
  const ChainMemory& memory_;
  std::vector<Value> inputs_, steps_;
  std::vector<bool> taken_;  // by register
  std::vector<ChainInstruction> stores_;
  ChainPlan plan_;
};

}  // namespace

ChainPlan plan_chain(const Chain& chain, const ChainMemory& memory) {
  return Planner(chain, memory).run();
}

}  // namespace braid::runtime
