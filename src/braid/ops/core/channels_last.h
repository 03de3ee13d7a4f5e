// Images [N, C, H, W] whose channels lie last in memory, [N, H, W, C]: small
// convolutions are fastest so. A convolution that asks for it makes its result
// so; ops element by element and pools go on in the order of their input.
#pragma once

#include "braid/ops/core/op.h"

namespace braid {

Strides channels_last_strides(const Shape& shape);

// Rules for Op::strides: by the attribute `channels_last`, and as an input of
// as many images and channels lies.
Strides strides_as_told(const NodeView& v);
Strides strides_of_input(const NodeView& v);

}  // namespace braid
