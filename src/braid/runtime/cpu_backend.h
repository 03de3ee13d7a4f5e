// A CPU device: memory of this machine with an account of its own, a copy
// thread each way and one for files. Several of them make several virtual
// devices.
//
// It computes with the host's cores, so the thread that computes does the
// updates on the host too, as soon as their operands are there: a thread of
// their own would bring a second team of threads to the same cores, and each
// team would sleep wherever it waits for its own.
#pragma once

#include <functional>

#include "braid/runtime/backend.h"
#include "braid/runtime/compute_turn.h"
#include "braid/runtime/cpu_scratch.h"
#include "braid/runtime/stream.h"
#include "braid/runtime/waits.h"

namespace braid::runtime {

struct CpuOptions {
  int64_t limit_bytes = kNoLimit;
  // Called before each copy with its bytes; tests make copies slow with it.
  std::function<void(int64_t bytes)> before_copy = {};
  // Called before each read and write of a file; what it throws is an error
  // of the file.
  std::function<void()> before_disk = {};
  int index = 0;  // of several CPU devices
  int cores = 1;
  // Of those who compute there in turns; null: there is nobody else.
  std::shared_ptr<ComputeSeat> seat = {};
  // Told what streams other than compute do; may be empty.
  StreamWatch watch = {};
};

class CpuBackend : public Backend {
 public:
  // Borrows the kernels.
  CpuBackend(const KernelTable& kernels, CpuOptions options);
  ~CpuBackend() override;

  std::byte* allocate(int64_t bytes) override;
  void release(std::byte* data) override;
  std::byte* allocate_host(int64_t bytes) override { return allocate(bytes); }
  void release_host(std::byte* data) override { release(data); }
  void write(std::byte* device, const std::byte* host, int64_t bytes) override;
  void read(std::byte* host, const std::byte* device, int64_t bytes) override;
  std::unique_ptr<ResultRing> make_ring(int64_t entries,
                                        int64_t bytes) override;
  Thunk prepare(const Call& call) override { return kernels_.prepare(call); }
  Thunk prepare_group(std::span<const Call> calls) override {
    return kernels_.prepare_group(calls);
  }
  Thunk prepare_host(const Call& call) override { return prepare(call); }
  int64_t measure_workspace(const Graph& graph, const Node& node, int threads,
                            bool /*on_host*/) override {
    return scratch_.measure(graph, node, threads);
  }
  void set_workspace(const std::string& signature, int64_t bytes,
                     bool /*on_host*/) override {
    scratch_.set(signature, bytes);
  }
  void before_call(int threads) override;
  void begin_compute() override;
  void offer_compute() override;
  void end_compute() override;
  std::unique_ptr<EventSet> make_events(int32_t count) override;
  void begin_pass(EventSet& events) override;
  void copy(plan::Stream stream, std::byte* to, const std::byte* from,
            int64_t bytes, const Issue& issue) override;
  void host_run(const Thunk& run, const Issue& issue) override;
  void disk_run(const Thunk& run, const Issue& issue) override;
  void wait(EventSet& events, int32_t event) override;
  void synchronize() override;
  Thunk capture(const Thunk&) override { return nullptr; }

 private:
  template <class Work>
  void watched(plan::Stream stream, Work work) const;

  const KernelTable& kernels_;
  CpuOptions options_;
  CpuScratch scratch_;
  Waits waits_;
  std::shared_ptr<EventBoard> board_ = std::make_shared<EventBoard>();
  OwnTasks updates_{board_};
  WorkStream h2d_, d2h_, disk_;
};

}  // namespace braid::runtime
