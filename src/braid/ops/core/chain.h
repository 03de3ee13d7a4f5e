// Chains: runs of pointwise ops that are computed as one node, block by block,
// so that values in between need no memory of their own. Here is what may be
// in one, and how a node of the op `chain` says what it computes:
//   steps="add(x0, x1); mul_scalar(s0, value=0.5); relu(s1)", outputs=[2]
// x0 is the node's first input, s0 what the first step makes.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "braid/graph/graph.h"

namespace braid {

constexpr size_t kMaxChainSteps = 24;
constexpr size_t kMaxChainInputs = 8;
constexpr size_t kMaxChainOutputs = 4;

// An attribute of the op that the step keeps. NaN: there is no default.
struct ChainNumber {
  const char* name = nullptr;
  double fallback = 0;
};

// An op that may be a step. `allows` looks at the numbers; `tanh` asks for
// that attribute.
struct ChainOp {
  static constexpr size_t kMaxOperands = 3;
  static constexpr size_t kMaxNumbers = 2;
  using Numbers = std::array<double, kMaxNumbers>;

  const char* name;
  size_t operands;
  std::array<ChainNumber, kMaxNumbers> numbers = {};
  bool (*allows)(const Numbers& numbers) = nullptr;
  bool tanh = false;
};

const std::vector<ChainOp>& chain_ops();

// Null when it may not be in a chain.
const ChainOp* find_chain_op(std::string_view name);

// Input `index` of the node, or what step `index` makes.
struct ChainOperand {
  bool is_step = false;
  size_t index = 0;
  bool operator==(const ChainOperand&) const = default;
};

struct ChainStep {
  const ChainOp* op = nullptr;
  std::vector<ChainOperand> operands = {};
  ChainOp::Numbers numbers = {};
};

struct Chain {
  std::vector<ChainStep> steps = {};
  std::vector<size_t> outputs = {};  // steps, in ascending order
};

// The step that a node would be, without its operands; no op when a node with
// these attributes may not be one.
ChainStep chain_step(const Node& node);

// The attributes of a chain, and back. Reading throws std::invalid_argument
// unless all is as it should be for a node with so many inputs.
Attrs chain_attrs(const Chain& chain);
Chain read_chain(const Attrs& attrs, size_t num_inputs);

}  // namespace braid
