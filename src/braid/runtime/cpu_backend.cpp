#include "braid/runtime/cpu_backend.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>

#include "braid/base/bytes.h"
#include "braid/plan/program.h"

namespace braid::runtime {
namespace {

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
      options_(std::move(options)),
      scratch_(kernels) {}

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

std::unique_ptr<EventSet> CpuBackend::make_events(int32_t count) {
  return std::make_unique<Events>(count, board_);
}

void CpuBackend::begin_pass(EventSet& events) { events_of(events).reset(); }

template <class Work>
void CpuBackend::watched(plan::Stream stream, Work work) const {
  auto begin = std::chrono::steady_clock::now();
  work();
  if (!options_.watch) return;
  options_.watch(stream, begin, std::chrono::steady_clock::now());
}

void CpuBackend::copy(plan::Stream stream, std::byte* to, const std::byte* from,
                      int64_t bytes, const Issue& issue) {
  WorkStream& queue = stream == plan::Stream::kHostToDevice ? h2d_ : d2h_;
  queue.push(
      [this, stream, to, from, bytes] {
        watched(stream, [&] {
          if (options_.before_copy) options_.before_copy(bytes);
          std::memcpy(to, from, static_cast<size_t>(bytes));
        });
      },
      events_of(issue.events), issue.event, issue.waits);
}

void CpuBackend::host_run(const Thunk& run, const Issue& issue) {
  updates_.push([this, run] { watched(plan::Stream::kHostUpdate, run); },
                events_of(issue.events), issue.event, issue.waits);
}

void CpuBackend::disk_run(const Thunk& run, const Issue& issue) {
  disk_.push(
      [this, run] {
        watched(plan::Stream::kDisk, [&] {
          if (options_.before_disk) options_.before_disk();
          run();
        });
      },
      events_of(issue.events), issue.event, issue.waits);
}

// What is waited for may itself wait for updates.
void CpuBackend::wait(EventSet& events, int32_t event) {
  Events& all = events_of(events);
  while (!all.is_complete(event)) {
    std::optional<ComputeSeat::Away> away;
    if (options_.seat) away.emplace(*options_.seat);
    updates_.await_ready_or(all, event);
    away.reset();
    updates_.run_ready();
  }
  all.wait(event);
}

void CpuBackend::before_call(int threads) {
  updates_.run_ready();
  if (threads > 1 && waits_.is_due()) {
    waits_.look(h2d_.worked_s() + d2h_.worked_s() + disk_.worked_s());
  }
}

void CpuBackend::begin_compute() {
  if (options_.seat) options_.seat->take();
}

void CpuBackend::offer_compute() {
  if (options_.seat) options_.seat->offer();
}

void CpuBackend::end_compute() {
  if (options_.seat) options_.seat->leave();
}

void CpuBackend::synchronize() {
  updates_.drain();  // copies and files wait for them
  h2d_.drain();
  d2h_.drain();
  disk_.drain();
}

}  // namespace braid::runtime
