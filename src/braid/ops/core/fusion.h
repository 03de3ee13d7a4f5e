// Fusions: runs of pointwise ops that are computed as one node, block by block,
// so that values in between need no memory of their own. Here is what may be
// in one, and how a node of the op `fusion` says what it computes:
//   steps="add(x0, x1); mul_scalar(s0, value=0.5); relu(s1)", outputs=[2]
// x0 is the node's first input, s0 what the first step makes.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "braid/graph/graph.h"

namespace braid {

constexpr size_t kMaxFusionSteps = 24;
constexpr size_t kMaxFusionInputs = 8;
constexpr size_t kMaxFusionOutputs = 4;

// An attribute of the op that the step keeps. NaN: there is no default.
struct FusionNumber {
  const char* name = nullptr;
  double fallback = 0;
};

// An op that may be a step. `allows` looks at the numbers; `tanh` asks for
// that attribute.
struct FusionOp {
  static constexpr size_t kMaxOperands = 3;
  static constexpr size_t kMaxNumbers = 2;
  using Numbers = std::array<double, kMaxNumbers>;

  const char* name;
  size_t operands;
  std::array<FusionNumber, kMaxNumbers> numbers = {};
  bool (*allows)(const Numbers& numbers) = nullptr;
  bool tanh = false;
};

const std::vector<FusionOp>& fusion_ops();

// Null when it may not be in a fusion.
const FusionOp* find_fusion_op(std::string_view name);

// Input `index` of the node, or what step `index` makes.
struct FusionOperand {
  bool is_step = false;
  size_t index = 0;
  bool operator==(const FusionOperand&) const = default;
};

struct FusionStep {
  const FusionOp* op = nullptr;
  std::vector<FusionOperand> operands = {};
  FusionOp::Numbers numbers = {};
};

struct Fusion {
  std::vector<FusionStep> steps = {};
  std::vector<size_t> outputs = {};  // steps, in ascending order
};

// The step that a node would be, without its operands; no op when a node with
// these attributes may not be one.
FusionStep fusion_step(const Node& node);

// The attributes of a fusion, and back. Reading throws std::invalid_argument
// unless all is as it should be for a node with so many inputs.
Attrs fusion_attrs(const Fusion& fusion);
Fusion read_fusion(const Attrs& attrs, size_t num_inputs);

}  // namespace braid
