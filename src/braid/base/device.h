// Names of devices: "cpu", "cpu:1", "cuda:0".
#pragma once

#include <string>

namespace braid {

enum class DeviceKind { kCpu, kCuda };

// Several CPU devices share one machine; each has cores and bytes of its own.
struct DeviceId {
  DeviceKind kind = DeviceKind::kCpu;
  int index = 0;
  auto operator<=>(const DeviceId&) const = default;
};

// "cpu" or "cuda".
std::string kind_name(DeviceKind kind);

// In full but for the first CPU device, which is plain "cpu".
std::string device_text(DeviceId id);

// A kind without a number is its device 0. Throws for anything else.
DeviceId parse_device(const std::string& text);

}  // namespace braid
