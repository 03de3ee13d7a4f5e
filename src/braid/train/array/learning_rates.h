// LearningRates: writes the rates of each member, by its schedule and its own
// step, into the slots that updates read. What a schedule remembers lies in
// slots, too, so that a checkpoint of the State holds all of it.
#pragma once

#include <string>
#include <vector>

#include "braid/passes/step/schedule.h"
#include "braid/runtime/state.h"

namespace braid::train {

class LearningRates {
 public:
  // One schedule per member. Borrows the state, which has the slots that
  // passes::Optimizer::scheduled brings, in the optimizer's scope.
  LearningRates(std::vector<passes::Schedule> schedules, runtime::State& state,
                const std::string& scope = "");

  // Another schedule for a member, from its next step on.
  void set_schedule(size_t member, passes::Schedule schedule);

  // Members that pause are those whose lane in `steps` is false; empty:
  // nobody does. Nothing of theirs changes.
  void before_step(const std::vector<bool>& steps = {});
  // Whether the rates of the next step depend on the losses of this one.
  bool watches_loss() const;
  // The losses of the step that was taken, per member; any numbers will do
  // where nobody watches them.
  void after_step(const std::vector<double>& losses,
                  const std::vector<bool>& steps = {});

  // The rate of a member's last step, which may be that of a checkpoint.
  double present(size_t member = 0) const;

 private:
  // A rate: the slot with its base, the slot that updates read.
  struct Rate {
    SlotId base_slot, slot;
    std::vector<double> bases, written;  // by member
  };

  void reload();
  void write(Rate& rate, const std::vector<bool>& steps);

  std::vector<passes::Schedule> schedules_;
  runtime::State& state_;
  SlotId step_slot_ = kNone, plateau_slot_ = kNone;
  std::vector<Rate> rates_;
  // Copies of what the state holds, as long as nobody else writes to it: a
  // device is asked only then.
  int64_t version_ = -1;
  std::vector<int64_t> steps_;
  std::vector<passes::Plateau> plateaus_;
};

}  // namespace braid::train
