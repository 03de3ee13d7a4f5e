// StepSpec: everything that one program is made from.
#pragma once

#include <string>
#include <vector>

#include "braid/graph/graph.h"
#include "braid/passes/step/optimizer.h"

namespace braid::compile {

struct StepSpec {
  Graph forward;  // of a step that learns: with an output "loss"
  // Of an array whose members differ in some layers: their graphs, in place of
  // `forward`; see passes/array/partial.h.
  std::vector<Graph> members = {};
  // Of a step; without a kind the program only runs forward.
  passes::Optimizer optimizer = {};
  int64_t micro_batches = 1;
  int64_t capacity = 0;  // members of the array; 0: one model, no member axis
  bool masked = false;   // members may pause, see passes/array/member_mask.h
  std::vector<std::string> shared_inputs = {};  // one minibatch for all
  DType precision = DType::kFloat32;  // of the work; or bf16, see precision.h
  std::string name = "step";          // for dumps

  bool learns() const { return !optimizer.kind.empty(); }
};

}  // namespace braid::compile
