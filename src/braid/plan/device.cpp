#include "braid/plan/device.h"

namespace braid::plan {
namespace {

// To the host and back.
std::vector<Link> host_links(DeviceId id, const Rates& rates) {
  DeviceId host;
  return {{host, id, rates.to_device_bytes_per_s},
          {id, host, rates.to_host_bytes_per_s}};
}

}  // namespace

DeviceInfo cpu_device(int cores, int index) {
  DeviceInfo info{.id = {DeviceKind::kCpu, index},
                  .bytes = machine_bytes() / 4 * 3,
                  .cores = cores};
  return with_rates(std::move(info), {.flops_per_s = 2e10 * cores,
                                      .bytes_per_s = 1e10,
                                      .to_device_bytes_per_s = 5e9,
                                      .to_host_bytes_per_s = 5e9,
                                      .call_s = 1e-6});
}

DeviceInfo cuda_device(int index, int64_t bytes) {
  DeviceInfo info{.id = {DeviceKind::kCuda, index},
                  .bytes = bytes,
                  .cores = 0,
                  .shares_cores = false,
                  .mixes_types = true,
                  .has_epilogues = true,
                  .has_lowerings = false,
                  .wants_channels_last = true,
                  .groups_updates = true,
                  .narrow_gradients = true};
  return with_rates(std::move(info), {.flops_per_s = 2e13,
                                      .bytes_per_s = 1e12,
                                      .to_device_bytes_per_s = 2e10,
                                      .to_host_bytes_per_s = 2e10,
                                      .call_s = 4e-6});
}

DeviceInfo with_rates(DeviceInfo device, const Rates& rates) {
  device.rates = rates;
  device.links = host_links(device.id, rates);
  return device;
}

}  // namespace braid::plan
