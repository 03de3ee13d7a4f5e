#include "braid/runtime/kernels/cuda/cuda_scratch.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "braid/base/bytes.h"
#include "braid/base/error.h"
#include "braid/plan/program.h"
#include "braid/runtime/kernels/aten/scratch.h"
#include "braid/runtime/kernels/cuda/forwarding_allocator.h"

namespace braid::runtime {
namespace {

namespace caching = c10::cuda::CUDACachingAllocator;

// Libraries want more than a plan's alignment.
constexpr int64_t kBlockAlignment = 256;

// Blocks are stacked upwards from the start of the workspace; room comes back
// when everything above a block is freed too.
struct Block {
  void* data;
  int64_t end;
  bool live;
};

struct Scratch {
  Workspace* workspace = nullptr;
  bool is_trial = false;  // counted alone; blocks have memory of their own
  std::vector<Block> blocks = {};
  int64_t used = 0;
};

thread_local Scratch scratch;
thread_local int64_t* handed_on = nullptr;  // bytes, where they are counted

// Bytes in front of the first block. A trial counts the most it can be.
int64_t lead_in() {
  if (scratch.is_trial) return kBlockAlignment - plan::kAlignment;
  auto address =
      static_cast<int64_t>(reinterpret_cast<intptr_t>(scratch.workspace->data));
  return align_up(address, kBlockAlignment) - address;
}

// False when it is no block of this thread's scratch.
bool forget(void* data) {
  std::vector<Block>& blocks = scratch.blocks;
  auto at = std::find_if(blocks.rbegin(), blocks.rend(), [&](const Block& b) {
    return b.live && b.data == data;
  });
  if (at == blocks.rend()) return false;
  at->live = false;
  while (!blocks.empty() && !blocks.back().live) blocks.pop_back();
  scratch.used = blocks.empty() ? lead_in() : blocks.back().end;
  return true;
}

// A block that is not known here outlived its kernel, which was an error then.
void free_planned(void* data) { forget(data); }

void free_trial(void* data) {
  forget(data);
  cudaFree(data);
}

// Not from libtorch's cache, which would keep it.
void* take_trial(size_t bytes) {
  void* data = nullptr;
  cudaError_t result = cudaMalloc(&data, bytes);
  if (result == cudaSuccess) return data;
  cudaGetLastError();
  fail_world("cudaMalloc of {} bytes for a trial call: {}", bytes,
             cudaGetErrorString(result));
}

class ScratchAllocator : public ForwardingAllocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    if (bytes > 0 && scratch.workspace) return take_tensor(bytes);
    count(bytes);
    return behind().allocate(bytes);
  }
  c10::DeleterFnPtr raw_deleter() const override {
    return scratch.workspace ? free_raw : behind().raw_deleter();
  }
  void* raw_alloc(size_t bytes) override {
    if (bytes > 0 && scratch.workspace) return take(bytes);
    count(bytes);
    return behind().raw_alloc(bytes);
  }
  void* raw_alloc_with_stream(size_t bytes, cudaStream_t stream) override {
    if (bytes > 0 && scratch.workspace) return take(bytes);
    count(bytes);
    return behind().raw_alloc_with_stream(bytes, stream);
  }
  void raw_delete(void* data) override {
    if (!forget(data)) return behind().raw_delete(data);
    if (scratch.is_trial) cudaFree(data);
  }

  void enter() {
    std::lock_guard lock(mutex_);
    if (uses_++ > 0 || is_placed_) return;
    set_behind(*caching::get());
    caching::allocator.store(this);
    is_placed_ = true;
  }

  // One that was put in front of ours meanwhile may hand on to it: then ours
  // stays.
  void leave() {
    std::lock_guard lock(mutex_);
    if (--uses_ > 0 || caching::get() != this) return;
    caching::allocator.store(&behind());
    is_placed_ = false;
  }

 private:
  static void free_raw(void* data);

  static void count(size_t bytes) {
    if (handed_on) *handed_on += static_cast<int64_t>(bytes);
  }

  c10::DataPtr take_tensor(size_t bytes) {
    c10::Device device(c10::kCUDA, c10::cuda::current_device());
    if (auto* output = DonatedOutputs::take(static_cast<int64_t>(bytes))) {
      return {output, output, [](void*) {}, device};
    }
    void* data = take(bytes);
    return {data, data, scratch.is_trial ? free_trial : free_planned, device};
  }

  void* take(size_t bytes) {
    Workspace& w = *scratch.workspace;
    int64_t begin = scratch.used;
    int64_t end =
        begin + align_up(static_cast<int64_t>(bytes), kBlockAlignment);
    w.needed_bytes = std::max(w.needed_bytes, end);
    if (!scratch.is_trial && end > w.bytes) {
      fail_world("a block of {} bytes passes the planned {} bytes of scratch",
                 bytes, w.bytes);
    }
    void* data = scratch.is_trial ? take_trial(bytes) : w.data + begin;
    scratch.blocks.push_back({data, end, true});
    scratch.used = end;
    return data;
  }

  std::mutex mutex_;
  int64_t uses_ = 0;
  bool is_placed_ = false;
};

// libtorch's tensors remember the allocator that they were made by, so it
// stays when it is not in place, until the process ends.
ScratchAllocator& allocator() {
  static auto* const made = new ScratchAllocator;
  return *made;
}

void ScratchAllocator::free_raw(void* data) { allocator().raw_delete(data); }

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

void run_in_scope(const Thunk& kernel, const std::string& op) {
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

// What is served comes from another part of memory for a while.
class Instead {
 public:
  explicit Instead(Workspace& part)
      : outer_(std::exchange(scratch, {&part, false})) {
    scratch.used = lead_in();
  }
  ~Instead() {
    Workspace& whole = *outer_.workspace;
    whole.needed_bytes =
        std::max(whole.needed_bytes, scratch.workspace->needed_bytes);
    scratch = std::move(outer_);
  }
  Instead(const Instead&) = delete;
  Instead& operator=(const Instead&) = delete;

 private:
  Scratch outer_;
};

}  // namespace

bool is_trial_call() { return scratch.workspace && scratch.is_trial; }

void run_in_part(int64_t part, int64_t parts, const Thunk& run) {
  if (!scratch.workspace || scratch.is_trial) return run();
  Workspace mine = *scratch.workspace;
  mine.bytes = mine.bytes / parts / kBlockAlignment * kBlockAlignment;
  mine.data += part * mine.bytes;
  mine.needed_bytes = 0;
  Instead instead(mine);
  run();
  if (scratch.blocks.empty()) return;
  fail_world("scratch memory was kept after a part had run");
}

void count_parts(int64_t parts) {
  if (!is_trial_call()) return;
  int64_t& needed = scratch.workspace->needed_bytes;
  needed = align_up(needed, kBlockAlignment) * parts;
}

CudaScratchUse::CudaScratchUse() { allocator().enter(); }

CudaScratchUse::~CudaScratchUse() { allocator().leave(); }

int64_t torch_cuda_bytes(const std::function<void()>& body) {
  struct Count {
    Count() { handed_on = &bytes; }
    ~Count() { handed_on = nullptr; }
    int64_t bytes = 0;
  } count;
  body();
  return count.bytes;
}

void run_in_scratch(Workspace& workspace, const Thunk& kernel,
                    const std::string& op) {
  Scope scope(workspace, false);
  run_in_scope(kernel, op);
}

int64_t measure_scratch(const Thunk& kernel, const std::string& op) {
  Workspace workspace;
  Scope scope(workspace, true);
  run_in_scope(kernel, op);
  return workspace.needed_bytes;
}

}  // namespace braid::runtime
