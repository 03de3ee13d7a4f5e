// Members of one call side by side: each is too small for the device, so they
// are dealt to a few streams that meet again behind the call.
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "braid/runtime/kernels/aten/members.h"
#include "braid/runtime/kernels/cuda/cuda_handles.h"
#include "braid/runtime/kernels/cuda/cuda_kernels.h"
#include "braid/runtime/kernels/cuda/cuda_scratch.h"

namespace braid::runtime {
namespace {

constexpr int64_t kMostStreams = 8;

// Streams and events of one device, for as long as the process runs.
class Lanes {
 public:
  explicit Lanes(c10::DeviceIndex device) : device_(device) {
    c10::cuda::CUDAGuard guard(device);
    for (int64_t i = 1; i < kMostStreams; ++i) {
      streams_.push_back(
          c10::cuda::getStreamFromExternal(own_[i].get(), device));
    }
  }

  c10::DeviceIndex device() const { return device_; }

  // Lane 0 is the present stream.
  template <class Run>
  void run(int64_t lanes, const Run& in_lane) {
    cudaStream_t main = c10::cuda::getCurrentCUDAStream(device_).stream();
    record(begun_, main);
    for (int64_t i = 1; i < lanes; ++i) hold(begun_, own_[i].get());
    for (int64_t i = 0; i < lanes; ++i) {
      if (i == 0) {
        in_lane(i);
        continue;
      }
      c10::cuda::CUDAStreamGuard guard(streams_[static_cast<size_t>(i - 1)]);
      in_lane(i);
    }
    for (int64_t i = 1; i < lanes; ++i) {
      record(done_[i], own_[i].get());
      hold(done_[i], main);
    }
  }

 private:
  struct Event {
    Event() {
      check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
                 "cudaEventCreate");
    }
    ~Event() { cudaEventDestroy(event); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    cudaEvent_t event = nullptr;
  };
  static void record(const Event& e, cudaStream_t stream) {
    check_cuda(cudaEventRecord(e.event, stream), "cudaEventRecord");
  }
  static void hold(const Event& e, cudaStream_t stream) {
    check_cuda(cudaStreamWaitEvent(stream, e.event, 0), "cudaStreamWaitEvent");
  }

  c10::DeviceIndex device_;
  CudaStream own_[kMostStreams];
  std::vector<c10::cuda::CUDAStream> streams_;
  Event begun_, done_[kMostStreams];
};

// All members of one call; their kernels are libtorch's, which work on the
// stream that is the present one.
class Members {
 public:
  Members(const Call& call, const Kernel& one, std::shared_ptr<Lanes> lanes)
      : lanes_(std::move(lanes)),
        count_(std::min(kMostStreams, call.members())),
        spaces_(static_cast<size_t>(call.members())) {
    for (int64_t m = 0; m < call.members(); ++m) {
      runs_.push_back(
          one(member_of(call, m, &spaces_[static_cast<size_t>(m)])));
    }
  }

  void run() {
    if (is_trial_call()) {
      runs_[0]();
      return count_parts(count_);
    }
    lanes_->run(count_, [this](int64_t lane) {
      run_in_part(lane, count_, [this, lane] {
        for (auto m = static_cast<size_t>(lane); m < runs_.size();
             m += static_cast<size_t>(count_)) {
          runs_[m]();
        }
      });
    });
  }

 private:
  std::shared_ptr<Lanes> lanes_;
  int64_t count_;
  std::vector<Workspace> spaces_;
  std::vector<Thunk> runs_;
};

// One after the other: cuBLAS has no memory for other streams.
Thunk in_turns(const Call& call, const Kernel& one) {
  auto spaces = std::make_shared<std::vector<Workspace>>(
      static_cast<size_t>(call.members()));
  std::vector<Thunk> runs;
  for (int64_t m = 0; m < call.members(); ++m) {
    runs.push_back(one(member_of(call, m, &(*spaces)[static_cast<size_t>(m)])));
  }
  return [spaces, runs] {
    for (const Thunk& run : runs) run();
  };
}

// Whether a library for convolutions computes it: libtorch makes products of
// those that are dilated or padded behind, and those of f64.
bool is_of_library(const Call& call) {
  const Attrs& a = call.attrs();
  bool image = call.in(0).shape.size() == 5;
  if (!image || call.in(0).dtype == DType::kFloat64 ||
      call.out(0).numel() == 0 || a.flag_or("gemm", false)) {
    return false;
  }
  auto is_one = [](int64_t n) { return n == 1; };
  auto is_zero = [](int64_t n) { return n == 0; };
  return std::ranges::all_of(a.ints("dilation"), is_one) &&
         (!a.has("output_padding") ||
          std::ranges::all_of(a.ints("output_padding"), is_zero));
}

}  // namespace

void add_cuda_members(KernelTable& table, int index) {
  auto lanes = std::make_shared<std::shared_ptr<Lanes>>();
  auto device = static_cast<c10::DeviceIndex>(index);
  for (const char* transposed : {"", "_transpose"}) {
    for (int dims : {1, 2, 3}) {
      for (const char* part : {"", "_backward_input", "_backward_weight"}) {
        std::string op = fmt::format("conv{}{}d{}", transposed, dims, part);
        table.add(op, [lanes, device, one = table.at(op)](const Call& call) {
          if (call.members() == 0) return one(call);
          if (!is_of_library(call)) return in_turns(call, one);
          if (!*lanes) *lanes = std::make_shared<Lanes>(device);
          auto members = std::make_shared<Members>(call, one, *lanes);
          return Thunk([members] { members->run(); });
        });
      }
    }
  }
}

}  // namespace braid::runtime
