#include "braid/runtime/kernels/aten/scratch.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <atomic>
#include <limits>
#include <mutex>

#include "braid/base/bytes.h"
#include "braid/plan/program.h"
#include "braid/runtime/scratch_reserve.h"

namespace braid::runtime {
namespace {

// Blocks are served upwards from the start of the workspace; a block that is
// the last one when it is freed gives its room back. Blocks that do not fit are
// charged to the reserve until the call is over.
struct Scratch {
  Workspace* workspace = nullptr;
  const std::vector<Tensor>* donated = nullptr;
  int64_t used = 0;
  int64_t all = 0;     // of all blocks so far, as if none was freed
  uint32_t taken = 0;  // bit per output
  bool is_beyond = false;
  std::vector<std::pair<Account*, int64_t>> charges = {};
};

thread_local Scratch scratch;

// In front of every block of a workspace.
struct Header {
  int64_t end;  // of the block, from the start of the workspace
};
constexpr int64_t kHeader = plan::kAlignment;

void release_donated(void*) {}

void free_scratch(void* data) {
  auto* block = static_cast<std::byte*>(data) - kHeader;
  if (scratch.workspace &&
      reinterpret_cast<Header*>(block)->end == scratch.used) {
    scratch.used = block - scratch.workspace->data;
  }
}

bool is_donated(const void* data) {
  for (const Tensor& output : *scratch.donated) {
    if (output.data == data) return true;
  }
  return false;
}

bool is_scratch(const void* data) {
  const Workspace& w = *scratch.workspace;
  return w.data && data >= w.data && data < w.data + w.bytes;
}

class ScratchAllocator : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    if (!scratch.workspace || size == 0) return behind().allocate(size);
    return take(static_cast<int64_t>(size));
  }
  // oneDNN frees through this, with nothing but the address.
  c10::DeleterFnPtr raw_deleter() const override {
    return scratch.workspace ? free_raw : behind().raw_deleter();
  }
  bool is_simple_data_ptr(const c10::DataPtr& data) const override {
    return behind().is_simple_data_ptr(data);
  }
  void copy_data(void* to, const void* from, size_t count) const override {
    behind().copy_data(to, from, count);
  }

  void enter() {
    std::lock_guard lock(mutex_);
    if (uses_++ > 0 || is_placed_) return;
    behind_ = c10::GetCPUAllocator();
    // Nobody tells what priority the other one has; ours must be no less.
    while (c10::GetCPUAllocator() != this && priority_ < kMostPriority) {
      c10::SetCPUAllocator(this, priority_++);
    }
    is_placed_ = c10::GetCPUAllocator() == this;
  }

  // One that was put in front of ours meanwhile hands on to it: then ours
  // stays.
  void leave() {
    std::lock_guard lock(mutex_);
    if (--uses_ > 0 || c10::GetCPUAllocator() != this) return;
    c10::SetCPUAllocator(behind_, --priority_);
    is_placed_ = false;
  }

 private:
  static constexpr uint8_t kMostPriority = std::numeric_limits<uint8_t>::max();

  static void free_raw(void* data);

  c10::Allocator& behind() const { return *behind_.load(); }

  c10::DataPtr take(int64_t bytes) {
    for (size_t i = 0; i < scratch.donated->size(); ++i) {
      const Tensor& output = (*scratch.donated)[i];
      if (!(scratch.taken >> i & 1) && output.bytes() == bytes) {
        scratch.taken |= 1u << i;
        return {output.data, output.data, release_donated, c10::kCPU};
      }
    }
    int64_t block = kHeader + align_up(bytes, plan::kAlignment);
    int64_t begin = scratch.used, end = begin + block;
    Workspace& w = *scratch.workspace;
    scratch.all += block;
    if (!w.data || end > w.bytes) {
      // A trial call has no memory, but must count as if blocks were stacked.
      if (!w.data) scratch.used = end;
      take_beyond(block);
      return behind().allocate(static_cast<size_t>(bytes));
    }
    w.needed_bytes =
        std::max(w.needed_bytes, scratch.is_beyond ? scratch.all : end);
    scratch.used = end;
    reinterpret_cast<Header*>(w.data + begin)->end = end;
    void* data = w.data + begin + kHeader;
    return {data, data, free_scratch, c10::kCPU};
  }

  // Where there is room for a block is not known before it was charged.
  static void take_beyond(int64_t block) {
    Workspace& w = *scratch.workspace;
    scratch.is_beyond = true;
    w.needed_bytes = std::max(w.needed_bytes, scratch.all);
    if (w.is_trial || !w.reserve) return;
    scratch.charges.emplace_back(&w.reserve->charge(block), block);
  }

  std::mutex mutex_;
  int64_t uses_ = 0;
  uint8_t priority_ = 0;  // the least that was not tried yet
  bool is_placed_ = false;
  std::atomic<c10::Allocator*> behind_{nullptr};
};

// libtorch's tensors remember the allocator that they were made by, so it
// stays when it is not in place, until the process ends.
ScratchAllocator& allocator() {
  static auto* const made = new ScratchAllocator;
  return *made;
}

thread_local const std::vector<Tensor>* of_device = nullptr;
thread_local uint32_t taken_on_device = 0;  // bit per output

void ScratchAllocator::free_raw(void* data) {
  if (scratch.workspace && is_scratch(data)) return free_scratch(data);
  if (scratch.workspace && is_donated(data)) return;
  allocator().behind().raw_deallocate(data);
}

}  // namespace

DonatedOutputs::DonatedOutputs(const std::vector<Tensor>& outputs) {
  of_device = &outputs;
  taken_on_device = 0;
}

DonatedOutputs::~DonatedOutputs() { of_device = nullptr; }

std::byte* DonatedOutputs::take(int64_t bytes) {
  for (size_t i = 0; of_device && i < of_device->size(); ++i) {
    if (taken_on_device >> i & 1 || (*of_device)[i].bytes() != bytes) continue;
    taken_on_device |= 1u << i;
    return (*of_device)[i].data;
  }
  return nullptr;
}

ScratchUse::ScratchUse() { allocator().enter(); }

ScratchUse::~ScratchUse() { allocator().leave(); }

ScratchScope::ScratchScope(Workspace& workspace,
                           const std::vector<Tensor>& donated) {
  scratch = {&workspace, &donated};
}

ScratchScope::~ScratchScope() {
  for (auto [account, bytes] : scratch.charges) account->release(bytes);
  scratch = {};
}

}  // namespace braid::runtime
