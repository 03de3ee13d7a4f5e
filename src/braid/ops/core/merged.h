// Operands of ops that keep members merged: [N, B * C, S], the channels of a
// member side by side. Turning a large value round costs as much as the op, so
// rules ask here first whether all operands can come to where it lies.
#pragma once

#include <optional>
#include <vector>

#include "braid/ops/core/op.h"

namespace braid {

// [N, B * C, S] as [N, B, C, S], and back; both are views.
Var split_channels(Var x, int64_t members);
Var join_channels(Var x);

// All inputs of an op that works element by element, as they broadcast to its
// merged result; nothing when no large one lies merged or another would cost
// more to bring there than the large one to turn round.
std::optional<std::vector<Var>> merged_operands(ArrayContext& c);

}  // namespace braid
