// Durations: how long instructions take, from arithmetic or from a profile.
#pragma once

#include <functional>
#include <string>

#include "braid/ops/core/op.h"
#include "braid/plan/device.h"
#include "braid/plan/profile.h"
#include "braid/plan/program.h"

namespace braid::plan {

// Seconds that an instruction takes on its stream.
using Durations = std::function<double(const Program&, const Instruction&)>;

// From arithmetic and traffic of each node at fixed rates, for use without a
// measured profile. Borrows the table.
Durations durations_at(const OpTable& ops, const Rates& rates);

// As the profile has measured them on such a device with so many threads for a
// call. What it does not know takes what arithmetic says, times what that was
// off by for the same operator, or for all. Borrows the table; one thread.
Durations durations_by(const OpTable& ops, const DeviceInfo& device,
                       int threads, Profile profile);

// Under which keys a profile keeps the call of a node, and the mistake of
// arithmetic for its operator; that of all operators is under the empty name.
// What runs on the host is a CPU's.
std::string call_key(DeviceKind device, int threads, const Graph& graph,
                     const Node& node);
std::string operator_key(DeviceKind device, int threads,
                         const std::string& name);

// What arithmetic says of a call, without what it takes to start it.
double arithmetic_s(const OpTable& ops, const Rates& rates, const Graph& graph,
                    const Node& node);

// Who waits for what while copies or updates on the host are under way.
struct Sharing {
  bool cores = false;    // the device computes with the host's own
  bool bus = false;      // copies of both directions take turns
  double to_copies = 0;  // seconds of computing lost for one of a copy
};
Sharing sharing_of(const DeviceInfo& device);

}  // namespace braid::plan
