// Devices by name: "cpu", "cuda", "cuda:1".
#pragma once

#include <limits>
#include <memory>
#include <string>

#include "braid/runtime/backend.h"

namespace braid::cli {

// A device without a limit of bytes.
inline constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// The name in full ("cuda" is "cuda:0"); throws when there is no such kind.
std::string device_name(const std::string& text);

// Borrows the kernels. Throws when this machine has no such device.
std::unique_ptr<runtime::Backend> open_device(
    const std::string& name, int64_t limit_bytes,
    const runtime::KernelTable& cpu_kernels);

}  // namespace braid::cli
