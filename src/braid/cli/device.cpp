#include "braid/cli/device.h"

#include "braid/base/error.h"
#include "braid/base/numbers.h"
#include "braid/runtime/cpu_backend.h"
#include "braid/runtime/kernels/cuda_backend.h"

namespace braid::cli {
namespace {

constexpr std::string_view kCuda = "cuda:";

// The number behind "cuda:"; nothing when it is none.
std::optional<int64_t> cuda_index(std::string_view name) {
  if (!name.starts_with(kCuda)) return std::nullopt;
  return parse_whole(name.substr(kCuda.size()));
}

}  // namespace

std::string device_name(const std::string& text) {
  std::string name = text == "cuda" ? "cuda:0" : text;
  std::optional<int64_t> index = cuda_index(name);
  if (name != "cpu" && (!index || *index < 0 || *index > 1023)) {
    fail_usage("[device] unknown device '{}'\nHINT: write cpu or cuda:0", text);
  }
  return name;
}

std::unique_ptr<runtime::Backend> open_device(
    const std::string& name, int64_t limit_bytes,
    const runtime::KernelTable& cpu_kernels) {
  if (std::optional<int64_t> index = cuda_index(name)) {
    runtime::CudaOptions options{static_cast<int>(*index), limit_bytes};
    return runtime::make_cuda_backend(cpu_kernels, options);
  }
  runtime::CpuOptions options;
  options.limit_bytes = limit_bytes;
  return std::make_unique<runtime::CpuBackend>(cpu_kernels, options);
}

}  // namespace braid::cli
