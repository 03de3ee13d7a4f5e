// Where the values of a chain are while one block of elements is computed: in
// the memory of inputs and outputs, or in registers, which are blocks of
// scratch memory that values take one after another.
#pragma once

#include <vector>

#include "braid/ops/core/chain.h"

namespace braid::runtime {

struct ChainPlace {
  enum class Kind { kInput, kOutput, kRegister };
  Kind kind = Kind::kRegister;
  size_t index = 0;
  bool operator==(const ChainPlace&) const = default;
};

struct ChainInstruction {
  // Gather: input `step` into a register. Compute: step `step`. Store: a
  // register into an output.
  enum class Kind { kGather, kCompute, kStore };
  Kind kind = Kind::kCompute;
  size_t step = 0;
  ChainPlace to = {};
  std::vector<ChainPlace> from = {};
};

struct ChainPlan {
  std::vector<ChainInstruction> first = {};  // before all blocks
  std::vector<ChainInstruction> instructions = {};
  size_t num_registers = 0;
};

// What the plan needs to know of the operands.
struct ChainMemory {
  std::vector<bool> is_plain;   // by input: read where it lies
  std::vector<bool> is_steady;  // by input: the same in all blocks
  // By output, by input: whether they lie in the same place.
  std::vector<std::vector<bool>> shared;
};

// An output is written where it lies as soon as it is known, unless that
// place is still to be read.
ChainPlan plan_chain(const Chain& chain, const ChainMemory& memory);

}  // namespace braid::runtime
