// The pipeline: from the forward graph of a StepSpec to the whole step, as a
// list of passes that one loop walks, verifies, times and shows.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "braid/compile/step_spec.h"
#include "braid/compile/target.h"
#include "braid/passes/array/array.h"
#include "braid/passes/rewrite/segments.h"
#include "braid/passes/step/step_graph.h"

namespace braid::compile {

// What the passes of one step work on.
struct Draft {
  const OpTable& ops;
  const StepSpec& spec;
  const Target& target;
  // One graph; of members that differ one each, until `array` joins them.
  std::vector<passes::StepGraph> parts = {};
  const passes::SegmentRules& rules;
  std::vector<std::string> segments = {};  // names, once they are known

  passes::StepGraph& step() { return parts.front(); }
};

struct Pass {
  std::string name;
  std::function<void(Draft&)> run;
};

// The passes that this step needs, in order.
std::vector<Pass> pipeline(const StepSpec& spec, const Target& target);

// Every pass that a step may have, in order; what comes out last is the
// program.
const std::vector<std::string>& pass_names();
inline constexpr const char* kProgramPass = "program";

// What a pass has made.
struct PassResult {
  const StepSpec& spec;
  std::string pass;
  double seconds = 0;
  std::function<std::string()> text;  // prints it
};
using PassObserver = std::function<void(const PassResult&)>;

struct BuiltStep {
  passes::StepGraph step;
  std::vector<std::string> segments;  // names of what a plan decides about
};

// One program before planning, with segments by these rules.
BuiltStep build_step(const OpTable& ops, const StepSpec& spec,
                     const Target& target, const PassObserver& observer = {},
                     const passes::SegmentRules& rules = {});

// Names of the segments that a plan for this model decides about.
std::vector<std::string> segment_names(const Graph& forward);

// What the array pass is told.
passes::ArrayPassOptions array_options(const StepSpec& spec,
                                       const Target& target);

}  // namespace braid::compile
