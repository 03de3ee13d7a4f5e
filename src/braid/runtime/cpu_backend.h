// A CPU device: memory of this machine with an account of its own, a copy
// thread each way and a thread for updates on the host. Several of them make
// several virtual devices.
#pragma once

#include <functional>
#include <limits>

#include "braid/runtime/backend.h"
#include "braid/runtime/stream.h"
#include "braid/runtime/waits.h"

namespace braid::runtime {

struct CpuOptions {
  std::string name = "cpu";
  int64_t limit_bytes = std::numeric_limits<int64_t>::max();
  // Called before each copy with its bytes; tests make copies slow with it.
  std::function<void(int64_t bytes)> before_copy = {};
};

class CpuBackend : public Backend {
 public:
  // Borrows the kernels.
  CpuBackend(const KernelTable& kernels, CpuOptions options);
  ~CpuBackend() override;

  std::string name() const override { return options_.name; }
  std::byte* allocate(int64_t bytes) override;
  void release(std::byte* data) override;
  std::byte* allocate_host(int64_t bytes) override { return allocate(bytes); }
  void release_host(std::byte* data) override { release(data); }
  void write(std::byte* device, const std::byte* host, int64_t bytes) override;
  void read(std::byte* host, const std::byte* device, int64_t bytes) override;
  Run prepare(const Call& call) override { return kernels_.prepare(call); }
  Run prepare_host(const Call& call) override { return prepare(call); }
  int64_t measure_workspace(const Graph& graph, const Node& node,
                            int threads) override;
  void before_threads() override { waits_.look(); }
  void begin_pass(int32_t num_events) override;
  void fetch(std::byte* device, const std::byte* host, int64_t bytes,
             int32_t event, int32_t after) override;
  void evict(std::byte* host, const std::byte* device, int64_t bytes,
             int32_t event, int32_t after) override;
  void host_run(const Run& run, int32_t event, int32_t after) override;
  void wait(int32_t event) override { events_.wait(event); }
  void synchronize() override;
  Run capture(const Run&) override { return nullptr; }

 private:
  void copy(Stream& stream, std::byte* to, const std::byte* from, int64_t bytes,
            int32_t event, int32_t after);

  const KernelTable& kernels_;
  CpuOptions options_;
  std::map<std::string, int64_t> measured_;  // workspace by signature
  Waits waits_;
  Events events_;
  Stream h2d_{events_}, d2h_{events_}, updates_{events_};
};

}  // namespace braid::runtime
