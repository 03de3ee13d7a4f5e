// `braid plan A.yaml B.yaml --devices 4`: how jobs would share devices, without
// training any.
#pragma once

#include "braid/cli/verbs/device_options.h"
#include "braid/cli/verbs/plan_job.h"

namespace braid::cli {

// The exit code.
int plan_devices(const PlanJobOptions& options, const DeviceOptions& devices);

}  // namespace braid::cli
