// Eval form: what the model computes when it does not learn. Dropout lets
// everything pass, BatchNorm takes its running statistics, buffers stay.
#pragma once

#include "braid/ops/core/op.h"

namespace braid::passes {

// `forward` is a forward graph in train form, of one model. Slots keep their
// ids. Throws when an output is made of statistics of the batch.
Graph eval_form(const OpTable& ops, const Graph& forward);

}  // namespace braid::passes
