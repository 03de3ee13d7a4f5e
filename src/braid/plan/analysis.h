// What is known of a step before any plan: its stages, who owns its slots, and
// what each segment costs and holds. Plans are chosen by these numbers, and
// programs are emitted from them.
#pragma once

#include <vector>

#include "braid/plan/buffers.h"

namespace braid::plan {

// Consecutive nodes of one phase and one segment.
struct Stage {
  Phase phase;
  int32_t segment;
  NodeId begin, end;
};

// Work and bytes of one segment in one micro-batch; its update once a step.
struct SegmentCosts {
  Cost forward, backward, update;
  int64_t forward_nodes = 0, backward_nodes = 0;  // without reads of slots
  int64_t parameter_bytes = 0;
  int64_t state_bytes = 0;  // of the optimizer
  // Activations that its backward part, or another's, reads;
  int64_t kept_bytes = 0;
  // of those, what comes from the segment before: enough to make the rest.
  int64_t input_bytes = 0;
};

struct StepAnalysis {
  Buffers buffers;
  std::vector<Stage> stages = {};
  std::vector<size_t> stage_of_node = {};
  size_t update_stage = 0;               // first stage of the update part
  std::vector<int32_t> slot_owner = {};  // segment of each slot

  size_t stage_of(NodeId node) const {
    return stage_of_node[static_cast<size_t>(node)];
  }
};

StepAnalysis analyse(const OpTable& ops, const Graph& step);

// By segment, in order; nodes outside any segment count nowhere.
std::vector<SegmentCosts> segment_costs(const OpTable& ops, const Graph& step,
                                        const StepAnalysis& analysis,
                                        size_t num_segments);

}  // namespace braid::plan
