#include "braid/runtime/kernels/cuda/cuda_scratch.h"

#include <c10/cuda/CUDACachingAllocator.h>
#include <torch/csrc/cuda/CUDAPluggableAllocator.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "braid/base/bytes.h"
#include "braid/base/error.h"
#include "braid/plan/program.h"

namespace braid::runtime {
namespace {

namespace pluggable = torch::cuda::CUDAPluggableAllocator;
using c10::cuda::CUDACachingAllocator::CUDAAllocator;

// Libraries want more than a plan's alignment.
constexpr int64_t kBlockAlignment = 256;

CUDAAllocator* native = nullptr;  // libtorch's own, set once
std::atomic<int64_t> native_bytes{0};

// Blocks are stacked upwards from the start of the workspace; room comes back
// when everything above a block is freed too.
struct Block {
  void* data;
  int64_t end;
  bool live;
};

struct Scratch {
  Workspace* workspace = nullptr;
  bool is_trial = false;  // counted alone; the memory is libtorch's
  std::vector<Block> blocks = {};
  int64_t used = 0;
};

thread_local Scratch scratch;

void* take_native(size_t bytes, cudaStream_t stream) {
  void* data = native->raw_alloc_with_stream(bytes, stream);
  native_bytes += static_cast<int64_t>(bytes);
  return data;
}

void free_native(void* data, size_t bytes) {
  native->raw_delete(data);
  native_bytes -= static_cast<int64_t>(bytes);
}

// Bytes in front of the first block. A trial counts the most it can be.
int64_t lead_in() {
  if (scratch.is_trial) return kBlockAlignment - plan::kAlignment;
  auto address =
      static_cast<int64_t>(reinterpret_cast<intptr_t>(scratch.workspace->data));
  return align_up(address, kBlockAlignment) - address;
}

void* take_scratch(size_t bytes, cudaStream_t stream) {
  Workspace& w = *scratch.workspace;
  int64_t begin = scratch.used;
  int64_t end = begin + align_up(static_cast<int64_t>(bytes), kBlockAlignment);
  w.needed_bytes = std::max(w.needed_bytes, end);
  if (!scratch.is_trial && end > w.bytes) {
    fail_world("a block of {} bytes passes the planned {} bytes of scratch",
               bytes, w.bytes);
  }
  void* data = scratch.is_trial ? take_native(bytes, stream) : w.data + begin;
  scratch.blocks.push_back({data, end, true});
  scratch.used = end;
  return data;
}

void* take(size_t bytes, int, cudaStream_t stream) {
  if (bytes == 0) return nullptr;
  return scratch.workspace ? take_scratch(bytes, stream)
                           : take_native(bytes, stream);
}

void release(void* data, size_t bytes, int, cudaStream_t) {
  std::vector<Block>& blocks = scratch.blocks;
  auto at = std::find_if(blocks.rbegin(), blocks.rend(), [&](const Block& b) {
    return b.live && b.data == data;
  });
  bool planned = at != blocks.rend() && !scratch.is_trial;
  if (!planned) free_native(data, bytes);
  if (at == blocks.rend()) return;
  at->live = false;
  while (!blocks.empty() && !blocks.back().live) blocks.pop_back();
  scratch.used = blocks.empty() ? lead_in() : blocks.back().end;
}

class Scope {
 public:
  Scope(Workspace& workspace, bool is_trial) {
    scratch = {&workspace, is_trial};
    scratch.used = lead_in();
  }
  ~Scope() { scratch = {}; }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
};

void run_in_scope(const Run& kernel, const std::string& op) {
  try {
    kernel();
  } catch (const c10::Error& error) {
    fail_world("[kernels] op '{}': {}", op, error.what_without_backtrace());
  } catch (const std::exception& error) {
    fail_world("[kernels] op '{}': {}", op, error.what());
  }
  if (scratch.blocks.empty()) return;
  fail_world("[kernels] op '{}' kept scratch memory after it ran", op);
}

void install() {
  native = c10::cuda::CUDACachingAllocator::get();
  if (native->initialized()) {
    fail_world(
        "[device] libtorch's CUDA allocator is already in use in this "
        "process\n"
        "HINT: make the device before the first CUDA tensor");
  }
  auto front =
      std::make_shared<pluggable::CUDAPluggableAllocator>(take, release);
  front->set_init_fn([](int device_count) { native->init(device_count); });
  front->set_reset_fn([] { native->emptyCache(); });
  pluggable::changeCurrentAllocator(front);
}

}  // namespace

void install_cuda_scratch() {
  static std::once_flag once;
  std::call_once(once, install);
}

int64_t torch_cuda_bytes() { return native_bytes; }

void empty_torch_cuda_cache() { native->emptyCache(); }

void run_in_scratch(Workspace& workspace, const Run& kernel,
                    const std::string& op) {
  Scope scope(workspace, false);
  run_in_scope(kernel, op);
}

int64_t measure_scratch(const Run& kernel, const std::string& op) {
  Workspace workspace;
  Scope scope(workspace, true);
  run_in_scope(kernel, op);
  return workspace.needed_bytes;
}

}  // namespace braid::runtime
