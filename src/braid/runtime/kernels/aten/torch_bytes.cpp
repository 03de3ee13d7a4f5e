#include "braid/runtime/kernels/aten/torch_bytes.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>

#include <atomic>
#include <mutex>

#include "braid/plan/program.h"

namespace braid::runtime {
namespace {

std::atomic<int64_t> bytes_now{0};
std::atomic<int64_t> bytes_peak{0};

// The size of a block lies in front of it.
constexpr int64_t kHeader = plan::kAlignment;

void free_block(void* data) {
  if (!data) return;
  auto* block = static_cast<std::byte*>(data) - kHeader;
  bytes_now -= *reinterpret_cast<int64_t*>(block);
  c10::free_cpu(block);
}

void* take_block(int64_t bytes) {
  auto* block = static_cast<std::byte*>(
      c10::alloc_cpu(static_cast<size_t>(bytes + kHeader)));
  *reinterpret_cast<int64_t*>(block) = bytes;
  int64_t now = bytes_now += bytes;
  int64_t seen = bytes_peak.load();
  while (now > seen && !bytes_peak.compare_exchange_weak(seen, now)) {
  }
  return block + kHeader;
}

class CountingAllocator : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    void* data = size > 0 ? take_block(static_cast<int64_t>(size)) : nullptr;
    return {data, data, free_block, c10::kCPU};
  }
  c10::DeleterFnPtr raw_deleter() const override { return free_block; }
  void copy_data(void* to, const void* from, size_t count) const override {
    default_copy_data(to, from, count);
  }
};

}  // namespace

void count_torch_cpu_bytes() {
  static CountingAllocator allocator;
  static std::once_flag once;
  std::call_once(once, [] { c10::SetCPUAllocator(&allocator, 100); });
}

int64_t torch_cpu_bytes() { return bytes_now; }
int64_t torch_cpu_peak_bytes() { return bytes_peak; }
void reset_torch_cpu_peak() { bytes_peak = bytes_now.load(); }

}  // namespace braid::runtime
