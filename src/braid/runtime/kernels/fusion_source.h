// A fusion as CUDA C++, for one set of operands. Sizes that matter are written
// into the text, so that fusions that are alike in all but size share it where
// they can. No CUDA here: the text is made and looked at anywhere.
#pragma once

#include <cstdint>
#include <string>

#include "braid/ops/core/fusion.h"
#include "braid/runtime/tensor.h"

namespace braid::runtime {

struct FusionSource {
  std::string text;
  // The kernel `fused` takes the address of each input, of each output and the
  // number of elements (long long). A thread computes so many of them.
  int64_t per_thread = 1;
};

inline constexpr int kFusionThreads = 256;  // in a block

// Outputs are alike in shape and strides and lie without gaps; inputs broadcast
// to them.
FusionSource fusion_source(const Fusion& fusion,
                           const std::vector<Tensor>& inputs,
                           const std::vector<Tensor>& outputs);

}  // namespace braid::runtime
