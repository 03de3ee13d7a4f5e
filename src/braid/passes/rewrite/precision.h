// Precision pass: compute in a narrow type, with masters in f32.
//
// Slots, inputs and outputs of the graph keep their types; what lies between
// is cast op by op, as torch.autocast does it. Autodiff runs afterwards, and
// the gradient of a cast is a cast: gradients reach the optimizer in f32.
#pragma once

#include "braid/ops/core/op.h"

namespace braid::passes {

struct PrecisionOptions {
  DType compute = DType::kFloat32;  // f32: nothing changes; or bf16
  // Ops that compute in f32 inside read and write what is narrow as it is, and
  // need no casts around them.
  bool mixed = false;
};

// Every parameter must be f32. Integers and f64 values stay as they are. A
// value is cast at most once to each type, a parameter too. Lowering a graph
// again changes nothing.
Graph lower_precision(const OpTable& ops, const Graph& forward,
                      const PrecisionOptions& options);

}  // namespace braid::passes
