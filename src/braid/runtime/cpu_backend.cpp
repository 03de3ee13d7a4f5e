#include "braid/runtime/cpu_backend.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "braid/base/bytes.h"
#include "braid/plan/program.h"
#include "braid/runtime/signature.h"
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

class CpuRing : public ResultRing {
 public:
  CpuRing(int64_t entries, int64_t bytes)
      : bytes_(static_cast<size_t>(bytes)),
        data_(static_cast<size_t>(entries) * bytes_) {}
  void put(int64_t entry, const std::byte* device) override {
    std::memcpy(data_.data() + at(entry), device, bytes_);
  }
  std::span<const std::byte> get(int64_t entry) const override {
    return std::span(data_).subspan(at(entry), bytes_);
  }

 private:
  size_t at(int64_t entry) const { return static_cast<size_t>(entry) * bytes_; }
  size_t bytes_;
  std::vector<std::byte> data_;
};

// Those that make_events() made.
Events& events_of(EventSet& events) { return static_cast<Events&>(events); }

}  // namespace

CpuBackend::CpuBackend(const KernelTable& kernels, CpuOptions options)
    : Backend(plan::cpu_device(options.cores, options.index),
              options.limit_bytes),
      kernels_(kernels),
      options_(std::move(options)) {}

CpuBackend::~CpuBackend() { CpuBackend::synchronize(); }

std::byte* CpuBackend::allocate(int64_t bytes) {
  auto alignment = static_cast<size_t>(plan::kAlignment);
  auto size = static_cast<size_t>(align_up(std::max<int64_t>(bytes, 1), 4096));
  void* data = std::aligned_alloc(size >= 4096 ? 4096 : alignment, size);
  if (!data) throw std::bad_alloc();
  return static_cast<std::byte*>(data);
}

void CpuBackend::release(std::byte* data) { std::free(data); }

void CpuBackend::write(std::byte* device, const std::byte* host,
                       int64_t bytes) {
  std::memcpy(device, host, static_cast<size_t>(bytes));
}

void CpuBackend::read(std::byte* host, const std::byte* device, int64_t bytes) {
  std::memcpy(host, device, static_cast<size_t>(bytes));
}

std::unique_ptr<ResultRing> CpuBackend::make_ring(int64_t entries,
                                                  int64_t bytes) {
  return std::make_unique<CpuRing>(entries, bytes);
}

int64_t CpuBackend::measure_workspace(const Graph& graph, const Node& node,
                                      int threads) {
  std::string signature = call_signature(graph, node, threads);
  auto known = measured_.find(signature);
  if (known != measured_.end()) return known->second;
  std::vector<ZeroPages> memory;
  Workspace workspace{.is_trial = true};
  Call call = trial_call(graph, node, workspace, [&](int64_t bytes) {
    return memory.emplace_back(bytes).data();
  });
  CallSettings settings;
  set_call_threads(threads);
  prepare(call)();
  return measured_[signature] = workspace.needed_bytes;
}

std::unique_ptr<EventSet> CpuBackend::make_events(int32_t count) {
  return std::make_unique<Events>(count);
}

void CpuBackend::begin_pass(EventSet& events) { events_of(events).reset(); }

void CpuBackend::copy(plan::Stream stream, std::byte* to, const std::byte* from,
                      int64_t bytes, const Issue& issue) {
  WorkStream& queue = stream == plan::Stream::kHostToDevice ? h2d_ : d2h_;
  queue.push(
      [this, to, from, bytes] {
        if (options_.before_copy) options_.before_copy(bytes);
        std::memcpy(to, from, static_cast<size_t>(bytes));
      },
      events_of(issue.events), issue.event, issue.waits);
}

void CpuBackend::host_run(const Thunk& run, const Issue& issue) {
  updates_.push(run, events_of(issue.events), issue.event, issue.waits);
}

void CpuBackend::disk_run(const Thunk& run, const Issue& issue) {
  disk_.push(
      [this, run] {
        if (options_.before_disk) options_.before_disk();
        run();
      },
      events_of(issue.events), issue.event, issue.waits);
}

void CpuBackend::wait(EventSet& events, int32_t event) {
  events_of(events).wait(event);
}

void CpuBackend::synchronize() {
  h2d_.drain();
  d2h_.drain();
  updates_.drain();
  disk_.drain();
}

}  // namespace braid::runtime
