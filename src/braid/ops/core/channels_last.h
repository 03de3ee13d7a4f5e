// Images [N, C, H, W] whose channels lie last in memory, [N, H, W, C]: small
// convolutions are fastest so, and narrow ones on GPUs. A convolution that asks
// for it makes its result so; ops element by element and pools go on in the
// order of their input. Images of members that are apart, [B, N, C, H, W], lie
// so member by member.
#pragma once

#include "braid/ops/core/op.h"

namespace braid {

// Of four dimensions or five.
Strides channels_last_strides(const Shape& shape);

// Rules for Op::strides: by the attribute `channels_last`; as an input of as
// many images and channels lies; by the attribute where there is one, else as
// the input lies.
Strides strides_as_told(const NodeView& v);
Strides strides_of_input(const NodeView& v);
Strides strides_as_told_or_of_input(const NodeView& v);

}  // namespace braid
