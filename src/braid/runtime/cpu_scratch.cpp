#include "braid/runtime/cpu_scratch.h"

#include <sys/mman.h>

#include <new>
#include <utility>
#include <vector>

#include "braid/base/bytes.h"
#include "braid/plan/call_signature.h"
#include "braid/runtime/trial_call.h"

namespace braid::runtime {
namespace {

// Zeroed memory for a trial call: untouched pages cost nothing.
class ZeroPages {
 public:
  explicit ZeroPages(int64_t bytes)
      : bytes_(static_cast<size_t>(align_up(bytes + 1, 4096))) {
    void* data = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<std::byte*>(data);
  }
  ~ZeroPages() {
    if (data_) munmap(data_, bytes_);
  }
  ZeroPages(ZeroPages&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  ZeroPages& operator=(ZeroPages&&) = delete;
  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  size_t bytes_;
};

}  // namespace

int64_t CpuScratch::measure(const Graph& graph, const Node& node, int threads) {
  std::string signature = plan::call_signature(graph, node, threads);
  auto known = bytes_.find(signature);
  if (known != bytes_.end()) return known->second;
  std::vector<ZeroPages> memory;
  Workspace workspace{.is_trial = true};
  Call call = trial_call(graph, node, workspace, [&](int64_t bytes) {
    return memory.emplace_back(bytes).data();
  });
  CallSettings settings;
  set_call_threads(threads);
  kernels_.prepare(call)();
  return bytes_[signature] = workspace.needed_bytes;
}

}  // namespace braid::runtime
