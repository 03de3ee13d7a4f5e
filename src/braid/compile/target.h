// Target: what a step is compiled for. Passes and plans see this, never a
// device's name.
#pragma once

#include <optional>

#include "braid/plan/compile.h"
#include "braid/plan/device.h"
#include "braid/plan/profile.h"

namespace braid::compile {

struct Target {
  plan::DeviceInfo device = {};
  int threads = 1;                      // that one call may use
  int64_t limit_bytes = kNoLimit;       // that all programs together may take
  int64_t host_limit_bytes = kNoLimit;  // and that, of host memory
  bool has_file = false;                // slots may lie in one
  // Scratch of kernels; empty: programs are compiled without, for estimates.
  plan::WorkspaceRule workspace = {};
  // How convolutions of an array are computed: the fastest by the seconds in
  // `profile`, where it has them, or one `lowering` for all.
  plan::Profile profile = {};
  std::optional<Lowering> lowering = {};
};

}  // namespace braid::compile
