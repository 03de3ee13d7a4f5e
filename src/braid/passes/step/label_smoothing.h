// Label smoothing of a member's own: the constant of a loss becomes a slot of
// one number, so that members may differ in it and it may change between
// steps.
#pragma once

#include "braid/ops/core/op.h"

namespace braid::passes {

// `forward` is a forward graph of one model. Every cross entropy reads its
// smoothing from a slot of its layer, "hyper/loss.label_smoothing", which
// begins with what the loss had; the second loss of a layer has
// "hyper/loss.label_smoothing2". A graph that is so already stays as it is.
Graph free_label_smoothing(const Graph& forward);

}  // namespace braid::passes
