// Seconds of lowerings in a profile: under which key they are kept and how a
// choice goes by them.
#pragma once

#include <string>

#include "braid/passes/array/array.h"
#include "braid/plan/device.h"
#include "braid/plan/profile.h"

namespace braid::plan {

// What one number is of: device, threads, convolution, members, lowering.
std::string lowering_key(DeviceKind device, int threads, const NodeView& one,
                         int64_t members, Lowering lowering);

// Measured seconds where the profile has some for a convolution, and then for
// no other lowering of it. Else a formula where the device has one; others, of
// which nothing is known, compute groups.
passes::LoweringSeconds lowering_seconds(Profile profile,
                                         const DeviceInfo& device, int threads);

}  // namespace braid::plan
