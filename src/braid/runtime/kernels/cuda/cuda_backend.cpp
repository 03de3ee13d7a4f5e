// A CUDA device. Kernels run on one compute stream; fetches, evictions,
// updates on the host and files have a stream each. Every one of those first
// waits for what the compute stream was given so far, because memory that
// compute has done with may be reused by a copy; nothing here blocks the caller
// but read and synchronize, and write while all of its ring is on its way.
// Updates on the host and files take turns on the one thread that CUDA has for
// such work.
//
// Scratch of libtorch lies in the planned workspaces (cuda_scratch.h). The
// only other memory it holds is the fixed workspace of cuBLAS, which is taken
// off the limit. CUDA's context and code are on nobody's account.
#include "braid/runtime/kernels/cuda_backend.h"

#include <ATen/Context.h>

#include <array>

#include "braid/base/bytes.h"
#include "braid/ops/core/foreign.h"
#include "braid/plan/call_signature.h"
#include "braid/runtime/cpu_scratch.h"
#include "braid/runtime/kernels/aten/bind.h"
#include "braid/runtime/kernels/cuda/compute_stream.h"
#include "braid/runtime/kernels/cuda/cuda_graph.h"
#include "braid/runtime/kernels/cuda/cuda_kernels.h"
#include "braid/runtime/kernels/cuda/cuda_rings.h"
#include "braid/runtime/kernels/cuda/cuda_scratch.h"
#include "braid/runtime/kernels/cuda/generated.h"
#include "braid/runtime/trial_call.h"

namespace braid::runtime {
namespace {

int device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return count;
}

plan::DeviceInfo device_info(int index) {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, index),
             "cudaGetDeviceProperties");
  plan::DeviceInfo info =
      plan::cuda_device(index, static_cast<int64_t>(properties.totalGlobalMem));
  info.has_fusion = cuda::can_generate();
  return info;
}

KernelTable kernels_on(c10::DeviceIndex index, cudaStream_t stream) {
  KernelTable table;
  add_aten_kernels(table, at::Device(at::kCUDA, index));
  add_cuda_kernels(table, index, stream);
  return table;
}

// An operand without elements may begin at the very end of its memory, and
// must still be known to CUDA.
size_t with_end(int64_t bytes) { return static_cast<size_t>(bytes) + 1; }

// Zeroed device memory for a trial call.
class TrialMemory {
 public:
  explicit TrialMemory(int64_t bytes) {
    size_t size = with_end(bytes);
    check_cuda(cudaMalloc(&data_, size), "cudaMalloc for a trial call");
    check_cuda(cudaMemset(data_, 0, size), "cudaMemset");
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  ~TrialMemory() { cudaFree(data_); }
  TrialMemory(TrialMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)) {}
  TrialMemory& operator=(TrialMemory&&) = delete;
  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  void* data_ = nullptr;
};

// Events of one program, and which of them were issued in this pass.
class CudaEvents : public EventSet {
 public:
  explicit CudaEvents(int32_t count)
      : events_(static_cast<size_t>(count)),
        is_recorded_(static_cast<size_t>(count), false) {}

  void reset() { std::fill(is_recorded_.begin(), is_recorded_.end(), false); }

  void record(int32_t event, const CudaStream& stream) {
    if (event == kNone) return;
    events_[static_cast<size_t>(event)].record(stream);
    is_recorded_[static_cast<size_t>(event)] = true;
  }

  const CudaEvent& recorded(int32_t event) const {
    if (!is_recorded_[static_cast<size_t>(event)]) {
      fail_world("[device] event {} is awaited before it was issued", event);
    }
    return events_[static_cast<size_t>(event)];
  }

 private:
  std::vector<CudaEvent> events_;
  std::vector<bool> is_recorded_;
};

// Those that make_events() made.
CudaEvents& events_of(EventSet& events) {
  return static_cast<CudaEvents&>(events);
}

class CudaBackend : public Backend {
 public:
  CudaBackend(const KernelTable& cpu_kernels,
              std::unique_ptr<CudaScratchUse> scratch, ComputeStream compute,
              int64_t limit_bytes);
  ~CudaBackend() override;

  std::byte* allocate(int64_t bytes) override;
  void release(std::byte* data) override;
  std::byte* allocate_host(int64_t bytes) override;
  void release_host(std::byte* data) override;
  void write(std::byte* device, const std::byte* host, int64_t bytes) override;
  void read(std::byte* host, const std::byte* device, int64_t bytes) override;
  std::unique_ptr<ResultRing> make_ring(int64_t entries,
                                        int64_t bytes) override;
  int64_t lag() const override { return 2; }
  Thunk prepare(const Call& call) override;
  Thunk prepare_group(std::span<const Call> calls) override;
  Thunk prepare_host(const Call& call) override;
  int64_t measure_workspace(const Graph& graph, const Node& node, int threads,
                            bool on_host) override;
  void set_workspace(const std::string& signature, int64_t bytes,
                     bool on_host) override;
  std::unique_ptr<EventSet> make_events(int32_t count) override;
  void begin_pass(EventSet& events) override;
  void copy(plan::Stream stream, std::byte* to, const std::byte* from,
            int64_t bytes, const Issue& issue) override;
  void host_run(const Thunk& run, const Issue& issue) override;
  void disk_run(const Thunk& run, const Issue& issue) override;
  void wait(EventSet& events, int32_t event) override;
  // Errors are kept for the next wait, write or read: destructors call this.
  void finish_calls() override {
    check_cuda(cudaStreamSynchronize(compute().get()), "cudaStreamSynchronize");
  }
  void synchronize() override;
  Thunk capture(const Thunk& body) override;

 private:
  struct Current : ComputeStream::Current {
    explicit Current(const CudaBackend& b)
        : ComputeStream::Current(b.compute_) {}
  };
  const CudaStream& compute() const { return compute_.stream(); }
  void begin_on(const CudaStream& stream, const Issue& issue);
  void run_on(const CudaStream& stream, const Thunk& run, const Issue& issue);
  std::array<const CudaStream*, 4> others() const {
    return {&h2d_, &d2h_, &updates_, &disk_};
  }
  void record_pass(CudaGraph& graph, const Thunk& body);

  const KernelTable& cpu_kernels_;
  std::unique_ptr<CudaScratchUse> scratch_;
  ComputeStream compute_;
  CudaStream h2d_, d2h_, updates_, disk_;
  InputRing inputs_;
  CudaEvent issued_;  // recorded again and again: waits see the last record
  HostErrors errors_;
  CudaGraph* recording_ = nullptr;
  KernelTable kernels_;
  std::map<std::string, int64_t> measured_;  // workspace by signature
  CpuScratch host_scratch_;
};

CudaBackend::CudaBackend(const KernelTable& cpu_kernels,
                         std::unique_ptr<CudaScratchUse> scratch,
                         ComputeStream compute, int64_t limit_bytes)
    : Backend(device_info(compute.index()), limit_bytes),
      cpu_kernels_(cpu_kernels),
      scratch_(std::move(scratch)),
      compute_(std::move(compute)),
      kernels_(kernels_on(compute_.index(), this->compute().get())),
      host_scratch_(cpu_kernels) {}

CudaBackend::~CudaBackend() { CudaBackend::synchronize(); }

std::byte* CudaBackend::allocate(int64_t bytes) {
  Current current(*this);
  void* data = nullptr;
  check_cuda(cudaMalloc(&data, with_end(bytes)), "cudaMalloc");
  return static_cast<std::byte*>(data);
}

void CudaBackend::release(std::byte* data) { cudaFree(data); }

std::byte* CudaBackend::allocate_host(int64_t bytes) {
  Current current(*this);
  void* data = nullptr;
  check_cuda(cudaHostAlloc(&data, with_end(bytes), cudaHostAllocDefault),
             "cudaHostAlloc");
  return static_cast<std::byte*>(data);
}

void CudaBackend::release_host(std::byte* data) { cudaFreeHost(data); }

// Memory of the device needs no ring: it lies there when the copy's turn comes.
bool lies_on_device(const void* data) {
  cudaPointerAttributes attributes{};
  if (cudaPointerGetAttributes(&attributes, data) == cudaSuccess) {
    return attributes.type == cudaMemoryTypeDevice;
  }
  cudaGetLastError();
  return false;
}

void CudaBackend::write(std::byte* device, const std::byte* host,
                        int64_t bytes) {
  Current current(*this);
  if (lies_on_device(host)) {
    check_cuda(cudaMemcpyAsync(device, host, static_cast<size_t>(bytes),
                               cudaMemcpyDeviceToDevice, compute().get()),
               "cudaMemcpyAsync");
  } else {
    inputs_.write(device, host, bytes, compute());
  }
  errors_.throw_if_any();
}

void CudaBackend::read(std::byte* host, const std::byte* device,
                       int64_t bytes) {
  Current current(*this);
  check_cuda(cudaMemcpyAsync(host, device, static_cast<size_t>(bytes),
                             cudaMemcpyDefault, compute().get()),
             "cudaMemcpyAsync");
  check_cuda(cudaStreamSynchronize(compute().get()), "cudaStreamSynchronize");
  errors_.throw_if_any();
}

std::unique_ptr<ResultRing> CudaBackend::make_ring(int64_t entries,
                                                   int64_t bytes) {
  Current current(*this);
  return std::make_unique<CudaResultRing>(entries, bytes, compute(), errors_);
}

Thunk CudaBackend::prepare(const Call& call) {
  Current current(*this);
  return [this, kernel = kernels_.prepare(call), workspace = call.workspace,
          op = call.node->op->name, foreign = is_foreign(*call.node)] {
    Current running(*this);
    compute_.ready_thread();
    // Autograd runs in threads of its own, which know nothing of this scratch:
    // such an op takes memory from libtorch.
    if (foreign) return kernel();
    run_in_scratch(*workspace, kernel, op);
  };
}

// Kernels of groups take no scratch.
Thunk CudaBackend::prepare_group(std::span<const Call> calls) {
  Thunk run = kernels_.prepare_group(calls);
  if (!run) return {};
  return [this, run] {
    Current running(*this);
    run();
  };
}

Thunk CudaBackend::prepare_host(const Call& call) {
  return cpu_kernels_.prepare(call);
}

int64_t CudaBackend::measure_workspace(const Graph& graph, const Node& node,
                                       int threads, bool on_host) {
  if (on_host) return host_scratch_.measure(graph, node, threads);
  if (is_foreign(node)) return 0;
  std::string signature = plan::call_signature(graph, node, threads);
  auto known = measured_.find(signature);
  if (known != measured_.end()) return known->second;
  Current current(*this);
  std::vector<TrialMemory> memory;
  Workspace workspace{.is_trial = true};
  Call call = trial_call(graph, node, workspace, [&](int64_t bytes) {
    return memory.emplace_back(bytes).data();
  });
  CallSettings settings;
  set_call_threads(threads);
  compute_.ready_thread();
  int64_t bytes = measure_scratch(kernels_.prepare(call), node.op->name);
  check_cuda(cudaStreamSynchronize(compute().get()), "a trial call");
  return measured_[signature] = bytes;
}

void CudaBackend::set_workspace(const std::string& signature, int64_t bytes,
                                bool on_host) {
  if (on_host) return host_scratch_.set(signature, bytes);
  measured_[signature] = bytes;
}

std::unique_ptr<EventSet> CudaBackend::make_events(int32_t count) {
  Current current(*this);
  return std::make_unique<CudaEvents>(count);
}

void CudaBackend::begin_pass(EventSet& events) { events_of(events).reset(); }

void CudaBackend::copy(plan::Stream stream, std::byte* to,
                       const std::byte* from, int64_t bytes,
                       const Issue& issue) {
  bool comes_in = stream == plan::Stream::kHostToDevice;
  const CudaStream& on = comes_in ? h2d_ : d2h_;
  begin_on(on, issue);
  check_cuda(
      cudaMemcpyAsync(
          to, from, static_cast<size_t>(bytes),
          comes_in ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost, on.get()),
      "cudaMemcpyAsync");
  events_of(issue.events).record(issue.event, on);
}

void CudaBackend::host_run(const Thunk& run, const Issue& issue) {
  run_on(updates_, run, issue);
}

void CudaBackend::disk_run(const Thunk& run, const Issue& issue) {
  run_on(disk_, run, issue);
}

// On the host, in the order of that stream.
void CudaBackend::run_on(const CudaStream& stream, const Thunk& run,
                         const Issue& issue) {
  begin_on(stream, issue);
  if (recording_) {
    HostCall& kept = recording_->keep(run, errors_);
    check_cuda(cudaLaunchHostFunc(stream.get(), HostCall::run_kept, &kept),
               "cudaLaunchHostFunc");
  } else {
    auto once = std::make_unique<HostCall>(run, errors_);
    check_cuda(cudaLaunchHostFunc(stream.get(), HostCall::run_once, once.get()),
               "cudaLaunchHostFunc");
    once.release();
  }
  events_of(issue.events).record(issue.event, stream);
}

void CudaBackend::begin_on(const CudaStream& stream, const Issue& issue) {
  issued_.record(compute());
  issued_.hold(stream);
  for (int32_t event : issue.waits) {
    events_of(issue.events).recorded(event).hold(stream);
  }
}

void CudaBackend::wait(EventSet& events, int32_t event) {
  events_of(events).recorded(event).hold(compute());
  errors_.throw_if_any();
}

void CudaBackend::synchronize() {
  try {
    auto await = [](const CudaStream& stream) {
      check_cuda(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
    };
    await(compute());
    for (const CudaStream* stream : others()) await(*stream);
  } catch (...) {
    errors_.keep(std::current_exception());
  }
}

Thunk CudaBackend::capture(const Thunk& body) {
  synchronize();
  errors_.throw_if_any();
  Current current(*this);
  auto graph = std::make_shared<CudaGraph>();
  record_pass(*graph, body);
  return [this, graph] {
    Current replaying(*this);
    graph->launch(compute());
  };
}

// The other streams join the recording at its start and end in it.
void CudaBackend::record_pass(CudaGraph& graph, const Thunk& body) {
  recording_ = &graph;
  try {
    graph.record(compute(), [&] {
      issued_.record(compute());
      for (const CudaStream* s : others()) issued_.hold(*s);
      body();
      for (const CudaStream* s : others()) {
        issued_.record(*s);
        issued_.hold(compute());
      }
    });
  } catch (const std::exception& error) {
    recording_ = nullptr;
    fail_world(
        "[device] {} could not record the step: {}\n"
        "HINT: turn capture off",
        name(), error.what());
  }
  recording_ = nullptr;
}

// Bytes left of the limit after what cuBLAS keeps.
int64_t program_limit(const CudaOptions& options, int64_t blas_bytes) {
  if (options.limit_bytes == kNoLimit) return kNoLimit;
  if (options.limit_bytes > blas_bytes) return options.limit_bytes - blas_bytes;
  fail_world(
      "[device] cuda:{}: cuBLAS alone takes {} bytes, the limit is {}\n"
      "HINT: raise the limit, or set CUBLAS_WORKSPACE_CONFIG=:16:8",
      options.index, blas_bytes, options.limit_bytes);
}

}  // namespace

std::vector<plan::DeviceInfo> cuda_devices() {
  std::vector<plan::DeviceInfo> all;
  for (int i = 0; i < device_count(); ++i) all.push_back(device_info(i));
  return all;
}

KernelTable cuda_kernels(int index) {
  return kernels_on(static_cast<c10::DeviceIndex>(index), nullptr);
}

std::unique_ptr<Backend> make_cuda_backend(const KernelTable& cpu_kernels,
                                           const CudaOptions& options) {
  int count = device_count();
  if (options.index < 0 || options.index >= count) {
    fail_world(
        "[device] cuda:{} is not available: this machine has {} CUDA devices\n"
        "HINT: use the device cpu{}",
        options.index, count, count > 0 ? " or --device cuda:0" : "");
  }
  at::globalContext().lazyInitDevice(at::kCUDA);
  auto scratch = std::make_unique<CudaScratchUse>();
  auto index = static_cast<c10::DeviceIndex>(options.index);
  c10::cuda::CUDAGuard device(index);
  ComputeStream compute(index);
  int64_t limit = program_limit(options, compute.blas_bytes());
  return std::make_unique<CudaBackend>(cpu_kernels, std::move(scratch),
                                       std::move(compute), limit);
}

}  // namespace braid::runtime
