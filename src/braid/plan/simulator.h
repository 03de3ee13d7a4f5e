// Simulator: the Executor's loop with a clock instead of tensors.
#pragma once

#include "braid/plan/durations.h"

namespace braid::plan {

struct Prediction {
  double time_s = 0;  // of one whole step
  // Time that the compute stream works, with what it loses to others that share
  // its cores.
  double compute_s = 0;
  // That of the busiest of the others; copies of both directions are one where
  // they take turns.
  double transfer_s = 0;
  int64_t peak_bytes = 0;       // reserved on the device: exact
  int64_t live_peak_bytes = 0;  // most bytes in use at one moment of the clock
  int64_t host_bytes = 0;
  int64_t disk_bytes = 0;  // of the file that slots lie in
};

// Replays one step on a virtual clock. Each stream runs its instructions in
// order; only what an instruction waits for delays it, and what it shares with
// others: where the device computes with the host's own cores, an update on the
// host delays what it computes by as much.
Prediction simulate(const Program& program, const Durations& durations,
                    const Sharing& sharing = {});

}  // namespace braid::plan
