// `braid step --form eval`: the model's loss on a batch, with nothing trained.
#pragma once

#include "braid/cli/step_options.h"
#include "braid/ops/op.h"

namespace braid::cli {

// Writes losses.json; the exit code.
int run_eval(const OpTable& ops, const StepOptions& options);

}  // namespace braid::cli
