// ProgramSet: all programs of one model or array. Steps for several batch
// sizes or phases, and evaluations, share their slots by name and take turns
// in one arena; what they take together is known here, before any memory is.
#pragma once

#include <optional>
#include <vector>

#include "braid/compile/pipeline.h"
#include "braid/plan/named_plan.h"

namespace braid::compile {

// Which plan the programs follow.
struct PlanRequest {
  plan::Plan plan = {};  // of the first program; empty: none is given
  std::optional<plan::NamedPlan> named = {};  // the same by names
  // Without a plan: try plans that take less and less device memory until one
  // fits the target's limit. Else everything is kept on the device.
  bool fit_to_limit = true;
};

struct ProgramSet {
  std::vector<plan::Program> programs;            // one for each spec, in order
  plan::Plan plan;                                // of the first
  std::vector<Slot> slots;                        // of all programs, by name
  std::vector<plan::SlotStorage> places;          // where they lie
  int64_t arena_bytes = 0, host_arena_bytes = 0;  // of the largest
  int64_t peak_bytes = 0;  // what the device's account will hold, exactly
};

// Compiles them all. A given plan is the first spec's; the others follow it
// where their segments agree. Throws std::runtime_error with what is missing
// when they do not fit the target's limit.
ProgramSet compile_programs(const OpTable& ops,
                            const std::vector<StepSpec>& specs,
                            const Target& target,
                            const PlanRequest& request = {},
                            const PassObserver& observer = {});

}  // namespace braid::compile
