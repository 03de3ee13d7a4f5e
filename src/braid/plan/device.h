// DeviceInfo: what a plan has to know about a device, as plain numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "braid/base/bytes.h"
#include "braid/base/device.h"

namespace braid::plan {

// Speeds for arithmetic without a measured profile: only how choices compare
// matters, and a profile corrects it.
struct Rates {
  double flops_per_s = 5e10;
  double bytes_per_s = 1e10;           // of kernels
  double to_device_bytes_per_s = 5e9;  // from the host
  double to_host_bytes_per_s = 5e9;
  double disk_read_bytes_per_s = 1e9;
  double disk_write_bytes_per_s = 1e9;
  double call_s = 1e-6;  // to start a kernel,
  double copy_s = 1e-5;  // and a copy, or an update on the host
  // Copies of both directions take turns.
  bool one_bus = false;
  // Seconds that the device computes less for each second of a copy.
  double compute_lost_to_copies = 0;
  bool operator==(const Rates&) const = default;
};

// A way for bytes between two devices; the host is the first CPU device.
struct Link {
  DeviceId from, to;
  double bytes_per_s = 0;
  bool operator==(const Link&) const = default;
};

struct DeviceInfo {
  DeviceId id = {};
  int64_t bytes = kNoLimit;    // of its memory
  int cores = 1;               // that compute for it; of CPU devices
  int64_t alignment = 64;      // of every allocation, in bytes
  bool shares_cores = true;    // what the host updates, the device waits for
  bool has_fusion = true;      // kernels for fused pointwise nodes,
  bool mixes_types = false;    // which read and write narrow types too
  bool has_epilogues = false;  // relu inside of linear layers
  bool has_lowerings = true;   // known speeds of ways to compute convolutions
  bool wants_channels_last = false;  // for narrow ones
  bool groups_updates = false;       // kernels for updates of many parameters
  bool narrow_gradients = false;     // updates take them in bf16, too
  Rates rates = {};
  std::vector<Link> links = {};
  bool operator==(const DeviceInfo&) const = default;
};

// A CPU device of so many cores. `bytes` are those of the machine, less what
// other programs and batches that wait need.
DeviceInfo cpu_device(int cores, int index = 0);
DeviceInfo cuda_device(int index, int64_t bytes);

// The device with other rates, also of its links.
DeviceInfo with_rates(DeviceInfo device, const Rates& rates);

}  // namespace braid::plan
