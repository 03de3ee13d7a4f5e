#include "braid/plan/device.h"

namespace braid::plan {
namespace {

// To the host and back.
std::vector<Link> host_links(DeviceId id, double bytes_per_s) {
  DeviceId host;
  return {{host, id, bytes_per_s}, {id, host, bytes_per_s}};
}

}  // namespace

DeviceInfo cpu_device(int cores, int index) {
  DeviceInfo info{.id = {DeviceKind::kCpu, index},
                  .bytes = machine_bytes() / 4 * 3,
                  .cores = cores};
  info.rates = {.flops_per_s = 2e10 * cores,
                .bytes_per_s = 1e10,
                .link_bytes_per_s = 5e9,
                .call_s = 1e-6};
  info.links = host_links(info.id, info.rates.link_bytes_per_s);
  return info;
}

DeviceInfo cuda_device(int index, int64_t bytes) {
  DeviceInfo info{.id = {DeviceKind::kCuda, index},
                  .bytes = bytes,
                  .cores = 0,
                  .shares_cores = false,
                  .has_fusion = false,
                  .has_lowerings = false};
  info.rates = {.flops_per_s = 2e13,
                .bytes_per_s = 1e12,
                .link_bytes_per_s = 2e10,
                .call_s = 4e-6};
  info.links = host_links(info.id, info.rates.link_bytes_per_s);
  return info;
}

}  // namespace braid::plan
