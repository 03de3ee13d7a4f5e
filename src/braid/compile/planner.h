// Planner: the programs of one model or array before and under plans. It
// compiles the graphs once; every plan is then a question of moments.
#pragma once

#include <string>
#include <vector>

#include "braid/compile/program_set.h"

namespace braid::compile {

class Planner {
 public:
  // Borrows the table and the target.
  Planner(const OpTable& ops, const std::vector<StepSpec>& specs,
          const Target& target, const PlanRequest& request,
          const PassObserver& observer = {});

  // Names of what plans decide about: segments of the first program.
  const std::vector<std::string>& segments() const {
    return steps_[0].segments;
  }
  // What the request decides, and what it leaves open.
  const plan::PartialPlan& given() const { return given_; }

  // The programs as the request wants them. Throws std::runtime_error with
  // what is missing when they do not fit the target's limits.
  ProgramSet programs() const;
  // The programs of any plan, whether they fit or not. A plan is the first
  // program's; the others follow it by the names of their segments.
  ProgramSet programs(const plan::Plan& plan) const;

  // The best plan for limits, which may be others than the target's.
  PlanChoice choose(const ChoiceOptions& options) const;
  ChoiceOptions choice_options() const;  // of the request and the target

  // What each decision would cost, for the first program.
  plan::ProgramRows rows(plan::Order order) const;

 private:
  plan::Plan followed(const plan::Plan& plan, const BuiltStep& built) const;
  void predict(ProgramSet& set) const;
  bool may_use_file() const;
  std::vector<plan::Order> orders() const;
  ProgramSet programs(const plan::Plan& plan, int64_t waiting_bytes) const;
  ProgramSet with_joint_updates(ProgramSet set) const;
  ProgramSet checked(ProgramSet set, std::string_view hint) const;

  const OpTable& ops_;
  const Target& target_;
  plan::Durations durations_;
  plan::Sharing sharing_;
  plan::PartialPlan given_;
  bool is_open_ = false;  // something is left to be chosen
  std::string solver_;
  std::vector<BuiltStep> steps_;
};

}  // namespace braid::compile
