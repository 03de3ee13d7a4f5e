// Rates of a device as they are measured: how fast it computes and how fast
// bytes move between it, the host and files, alone and beside each other.
#pragma once

#include <filesystem>

#include "braid/ops/core/op.h"
#include "braid/runtime/backend.h"

namespace braid::runtime {

struct RatesRequest {
  int threads = 1;                       // that one call may use
  std::filesystem::path spill_dir = {};  // files are measured there; or not
};

// What is not measured, for want of room or of a folder, stays as the device's
// info has it. Blocks for about a second, in which nothing else should run;
// takes some memory of the device, within its limit.
plan::Rates measure_rates(const OpTable& ops, Backend& backend,
                          const RatesRequest& request);

}  // namespace braid::runtime
