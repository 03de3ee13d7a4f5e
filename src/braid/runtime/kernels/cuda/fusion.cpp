// Fusions on CUDA: a kernel is generated for each.
#include <memory>

#include "braid/runtime/kernels/cuda/cuda_handles.h"
#include "braid/runtime/kernels/cuda/cuda_kernels.h"
#include "braid/runtime/kernels/cuda/generated.h"
#include "braid/runtime/kernels/fusion_source.h"
#include "braid/runtime/kernels/kernel.h"

namespace braid::runtime {
namespace {

// A launch whose arguments stay where they are.
class FusionLaunch {
 public:
  FusionLaunch(const Call& call, int device, cudaStream_t stream)
      : count_(call.out(0).numel()), stream_(stream) {
    FusionSource source =
        fusion_source(read_fusion(call.attrs(), call.inputs.size()),
                      call.inputs, call.outputs);
    kernel_ = cuda::generated_kernel(device, source.text, "fused");
    for (const auto* list : {&call.inputs, &call.outputs}) {
      for (const Tensor& t : *list) addresses_.push_back(t.data);
    }
    for (std::byte*& address : addresses_) arguments_.push_back(&address);
    arguments_.push_back(&count_);
    int64_t per_block = source.per_thread * kFusionThreads;
    blocks_ = static_cast<unsigned>((count_ + per_block - 1) / per_block);
  }
  FusionLaunch(const FusionLaunch&) = delete;
  FusionLaunch& operator=(const FusionLaunch&) = delete;

  void operator()() {
    check_cuda(
        cudaLaunchKernel(reinterpret_cast<const void*>(kernel_), dim3(blocks_),
                         dim3(kFusionThreads), arguments_.data(), 0, stream_),
        "fusion");
  }

 private:
  long long count_;
  cudaStream_t stream_;
  cudaKernel_t kernel_ = nullptr;
  unsigned blocks_ = 0;
  std::vector<std::byte*> addresses_;
  std::vector<void*> arguments_;
};

}  // namespace

void add_cuda_fusion(KernelTable& table, int index, cudaStream_t stream) {
  table.add("fusion", [=](const Call& call) -> Thunk {
    if (call.out(0).numel() == 0) return [] {};
    auto launch = std::make_shared<FusionLaunch>(call, index, stream);
    return [launch] { (*launch)(); };
  });
}

}  // namespace braid::runtime
