// Array rules shared by families of operators. Each brings the inputs of a
// node to one layout, applies the same op once for all members, and says
// where the members lie in the results.
#pragma once

#include "braid/ops/core/op.h"

namespace braid {

// Element by element with broadcasting: members stay where they lie.
void array_pointwise(ArrayContext& c);

// Inputs as [B, ...]; the op's dimensions were moved by one in `attrs`.
void array_shifted(ArrayContext& c, Attrs attrs);

// Whether all inputs are merged and alike in rank: an op that neither looks
// along the channels nor takes the batch away may leave them so.
bool all_merged(ArrayContext& c);

// The op as it is on merged inputs.
void array_merged(ArrayContext& c);

// [B, N, ...] as [B * N, ...]: ops that treat rows of a batch apart.
void array_folded(ArrayContext& c);

// Images: on merged channels as they lie, else folded into the batch.
void array_channels(ArrayContext& c);

// Inputs as [B, ...] and the attribute `members`: the op knows members.
void array_members(ArrayContext& c);

// One node per member, results stacked. For rare ops.
void array_loop(ArrayContext& c);

// For results that do not change with their inputs, such as counts.
void no_gradient(VjpContext& c);

// Every dimension of a list moved by one.
Ints shift_dims(Ints dims);

// The output has the type of input 0.
std::vector<ValueType> shape_like_first(const NodeView& v);

}  // namespace braid
