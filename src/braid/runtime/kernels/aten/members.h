// Kernels of one model on operands that lead with B members.
#pragma once

#include <ATen/ATen.h>

#include "braid/runtime/kernels/kernel.h"

namespace braid::runtime {

// The call of one member. Calls with the attribute `members` run `one` on each
// member's part of all operands, the others run it as it is. On a CPU members
// are shared out among threads, each with a part of the workspace; what a
// member's result is does not depend on that.
Call member_of(const Call& all, int64_t member, Workspace* workspace);
Kernel each_member(at::Device device, Kernel one);

}  // namespace braid::runtime
