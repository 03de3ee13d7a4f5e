// `braid step --form eval`: the model's loss on a batch, with nothing trained.
#pragma once

#include "braid/cli/verbs/step_options.h"
#include "braid/runtime/machine.h"

namespace braid::cli {

// Writes losses.json; the exit code.
int run_eval(const runtime::Machine& machine, const StepOptions& options);

}  // namespace braid::cli
