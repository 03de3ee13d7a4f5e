// Where the values of a fusion are while one block of elements is computed: in
// the memory of inputs and outputs, or in registers, which are blocks of
// scratch memory that values take one after another.
#pragma once

#include <vector>

#include "braid/ops/core/fusion.h"

namespace braid::runtime {

struct FusionPlace {
  enum class Kind { kInput, kOutput, kRegister };
  Kind kind = Kind::kRegister;
  size_t index = 0;
  bool operator==(const FusionPlace&) const = default;
};

struct FusionInstruction {
  // Gather: input `step` into a register. Compute: step `step`. Store: a
  // register into an output.
  enum class Kind { kGather, kCompute, kStore };
  Kind kind = Kind::kCompute;
  size_t step = 0;
  FusionPlace to = {};
  std::vector<FusionPlace> from = {};
};

struct FusionPlan {
  std::vector<FusionInstruction> first = {};  // before all blocks
  std::vector<FusionInstruction> instructions = {};
  size_t num_registers = 0;
};

// What the plan needs to know of the operands.
struct FusionScratch {
  std::vector<bool> is_plain;   // by input: read where it lies
  std::vector<bool> is_steady;  // by input: the same in all blocks
  // By output, by input: whether they lie in the same place.
  std::vector<std::vector<bool>> shared;
};

// An output is written where it lies as soon as it is known, unless that
// place is still to be read.
FusionPlan plan_fusion(const Fusion& fusion, const FusionScratch& memory);

}  // namespace braid::runtime
