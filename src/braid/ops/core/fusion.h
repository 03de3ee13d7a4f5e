// Fusions: runs of pointwise ops that are computed as one node, block by block,
// so that values in between need no memory of their own. Here is what may be
// in one, and how a node of the op `fusion` says what it computes:
//   steps="add(x0, x1); mul_scalar(s0, value=0.5); relu(s1)", outputs=[2]
// x0 is the node's first input, s0 what the first step makes. A step works in
// the type of its operands, which must agree; what is narrow is computed in f32
// and rounded after every step, as if each was a node of its own.
#pragma once

#include <array>
#include <optional>
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
  std::optional<DType> to = {};  // of a cast: to_f32(x0)
};

// Those that every kernel for fusions has, and those that only kernels of mixed
// types have besides.
const std::vector<FusionOp>& fusion_ops();
const std::vector<FusionOp>& mixed_fusion_ops();

// One of either; null when it may not be in a fusion.
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
// these attributes may not be one. `mixed`: kernels of mixed types compute it.
FusionStep fusion_step(const Node& node, bool mixed = false);

// The type that each step makes, from those of the inputs. Throws
// std::invalid_argument where the operands of a step differ.
std::vector<DType> fusion_dtypes(const Fusion& fusion,
                                 const std::vector<DType>& inputs);

// The attributes of a fusion, and back. Reading throws std::invalid_argument
// unless all is as it should be for a node with so many inputs.
Attrs fusion_attrs(const Fusion& fusion);
Fusion read_fusion(const Attrs& attrs, size_t num_inputs);

}  // namespace braid
