// Timing of lowerings: what a choice by measurement needs to know.
#pragma once

#include "braid/ops/core/op.h"
#include "braid/plan/profile.h"
#include "braid/runtime/backend.h"

namespace braid::train {

// Seconds of every lowering of every convolution of `forward` as an array of
// `members` that `known` has none for: forward and both gradients on random
// weights, the best of a few runs of some milliseconds each. Blocks; the
// caller adds them to its profile and may save that. Nothing else should run on
// the device meanwhile. Devices without lowerings give nothing.
plan::Profile time_lowerings(const OpTable& ops, const Graph& forward,
                             int64_t members, runtime::Backend& backend,
                             int threads, const plan::Profile& known = {});

}  // namespace braid::train
