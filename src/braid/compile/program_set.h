// ProgramSet: all programs of one model or array. Steps for several batch
// sizes or phases, and evaluations, share their slots by name and take turns
// in one arena; what they take together is known here, before any memory is.
#pragma once

#include <optional>
#include <vector>

#include "braid/compile/choose_plan.h"
#include "braid/compile/pipeline.h"
#include "braid/plan/named_plan.h"

namespace braid::compile {

// Which plan the programs follow.
struct PlanRequest {
  plan::Plan plan = {};  // of the first program; empty: none is given
  // The same by names; it may leave decisions open.
  std::optional<plan::NamedPlan> named = {};
  // What is open is chosen so that the target's limits are kept at the least
  // time. Else it is kept on the device.
  bool fit_to_limit = true;
};

struct ProgramSet {
  std::vector<plan::Program> programs = {};       // one for each spec, in order
  plan::Plan plan = {};                           // of the first,
  std::vector<std::string> segments = {};         // and its names
  std::optional<PlanChoice> choice = {};          // how it was found
  std::vector<Slot> slots = {};                   // of all programs, by name
  std::vector<plan::SlotStorage> places = {};     // where they lie
  int64_t arena_bytes = 0, host_arena_bytes = 0;  // of the largest
  int64_t peak_bytes = 0;  // what the device's account will hold, exactly
  int64_t host_bytes = 0;  // and that of the host
  int64_t disk_bytes = 0;  // of the file that slots lie in
  // Of a full step, by prediction: how long it takes, how long the device
  // computes in it, and how long the busiest of its links and helpers works.
  double step_s = 0, compute_s = 0, transfer_s = 0;
};

// Programs with the slots that they have together.
ProgramSet joined_programs(std::vector<plan::Program> programs);

// A slot that programs keep in different places though one of them writes it;
// none in a set that can run.
std::optional<std::string> misplaced_slot(const ProgramSet& set);

// Compiles them all. A given plan is the first spec's; the others follow it
// where their segments agree. Throws std::runtime_error with what is missing
// when they do not fit the target's limit.
ProgramSet compile_programs(const OpTable& ops,
                            const std::vector<StepSpec>& specs,
                            const Target& target,
                            const PlanRequest& request = {},
                            const PassObserver& observer = {});

}  // namespace braid::compile
