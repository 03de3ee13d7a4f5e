// Labels that mixup made probabilities of, in the graphs of models that were
// made for labels.
#pragma once

#include "braid/graph/graph.h"
#include "braid/train/job/job_data.h"

namespace braid::train {

// Inputs that such fields feed take the probabilities, [rows, classes] instead
// of i64 [rows]. A cross entropy of rows, which knows both, must be all that
// reads them: anything else is an error of the caller.
void take_mixed_targets(Graph& forward, const JobData& data, int64_t rows);

}  // namespace braid::train
