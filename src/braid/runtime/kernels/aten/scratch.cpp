#include "braid/runtime/kernels/aten/scratch.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>

#include <atomic>
#include <mutex>

#include "braid/base/bytes.h"
#include "braid/plan/program.h"

namespace braid::runtime {
namespace {

std::atomic<int64_t> system_bytes{0};
std::atomic<int64_t> system_peak{0};

// Blocks are served upwards from the start of the workspace; a block that is
// the last one when it is freed gives its room back.
struct Scratch {
  Workspace* workspace = nullptr;
  const std::vector<Tensor>* landings = nullptr;
  int64_t used = 0;
  uint32_t taken = 0;  // bit per landing
};

thread_local Scratch scratch;

// Every block but a landing has a header in front: what it is and how long.
struct Header {
  enum class Kind : int64_t { kSystem = 0x5157, kScratch = 0x5C2A };
  Kind kind;
  int64_t size;  // system: bytes; scratch: where the block ends
};
constexpr int64_t kHeader = plan::kAlignment;

Header& header_of(void* data) {
  return *reinterpret_cast<Header*>(static_cast<std::byte*>(data) - kHeader);
}

bool is_landing(void* data) {
  if (!scratch.landings) return false;
  for (const Tensor& landing : *scratch.landings) {
    if (landing.data == data) return true;
  }
  return false;
}

// libtorch wants one function that frees any block.
void free_block(void* data) {
  if (!data || is_landing(data)) return;
  Header& header = header_of(data);
  auto* block = reinterpret_cast<std::byte*>(&header);
  if (header.kind == Header::Kind::kSystem) {
    system_bytes -= header.size;
    c10::free_cpu(block);
  } else if (scratch.workspace && header.size == scratch.used) {
    scratch.used = block - scratch.workspace->data;
  }
}

void* take_system(int64_t bytes) {
  auto* block = static_cast<std::byte*>(
      c10::alloc_cpu(static_cast<size_t>(bytes + kHeader)));
  *reinterpret_cast<Header*>(block) = {Header::Kind::kSystem, bytes};
  int64_t now = system_bytes += bytes;
  int64_t seen = system_peak.load();
  while (now > seen && !system_peak.compare_exchange_weak(seen, now)) {
  }
  return block + kHeader;
}

void* take_scratch(int64_t bytes) {
  for (size_t i = 0; i < scratch.landings->size(); ++i) {
    const Tensor& landing = (*scratch.landings)[i];
    if (!(scratch.taken >> i & 1) && landing.bytes() == bytes) {
      scratch.taken |= 1u << i;
      return landing.data;
    }
  }
  int64_t begin = scratch.used;
  int64_t end = begin + kHeader + align_up(bytes, plan::kAlignment);
  Workspace& w = *scratch.workspace;
  w.needed_bytes = std::max(w.needed_bytes, end);
  if (!w.data || end > w.bytes) {
    // A trial call has no memory, but must count as if blocks were stacked.
    if (!w.data) scratch.used = end;
    return take_system(bytes);
  }
  scratch.used = end;
  *reinterpret_cast<Header*>(w.data + begin) = {Header::Kind::kScratch, end};
  return w.data + begin + kHeader;
}

class ScratchAllocator : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    auto bytes = static_cast<int64_t>(size);
    void* data = nullptr;
    if (bytes > 0) {
      data = scratch.workspace ? take_scratch(bytes) : take_system(bytes);
    }
    return {data, data, free_block, c10::kCPU};
  }
  c10::DeleterFnPtr raw_deleter() const override { return free_block; }
  void copy_data(void* to, const void* from, size_t count) const override {
    default_copy_data(to, from, count);
  }
};

}  // namespace

void install_scratch_allocator() {
  static ScratchAllocator allocator;
  static std::once_flag once;
  std::call_once(once, [] { c10::SetCPUAllocator(&allocator, 100); });
}

int64_t torch_cpu_bytes() { return system_bytes; }
int64_t torch_cpu_peak_bytes() { return system_peak; }
void reset_torch_cpu_peak() { system_peak = system_bytes.load(); }

ScratchScope::ScratchScope(Workspace& workspace,
                           const std::vector<Tensor>& landings) {
  scratch = {&workspace, &landings, 0, 0};
}

ScratchScope::~ScratchScope() { scratch = {}; }

}  // namespace braid::runtime
