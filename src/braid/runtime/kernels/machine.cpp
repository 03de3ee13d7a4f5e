#include "braid/runtime/machine.h"

#include "braid/ops/core/op.h"
#include "braid/runtime/cpu_backend.h"
#include "braid/runtime/foreign_ops.h"
#include "braid/runtime/kernels/cuda_backend.h"

namespace braid::runtime {
namespace {

class ThisMachine : public Machine {
 public:
  const OpTable& ops() const override { return ops_; }
  const ForeignOps& foreign() const override { return *foreign_; }

  std::unique_ptr<Backend> open(const std::string& device,
                                int64_t limit_bytes) const override {
    size_t colon = device.find(':');
    if (colon != device.npos) {
      CudaOptions options{std::stoi(device.substr(colon + 1)), limit_bytes};
      return make_cuda_backend(kernels_, options);
    }
    CpuOptions options;
    options.limit_bytes = limit_bytes;
    return std::make_unique<CpuBackend>(kernels_, options);
  }

 private:
  OpTable ops_ = standard_ops();
  std::unique_ptr<ForeignOps> foreign_ = torch_foreign_ops();
  KernelTable kernels_ = cpu_kernels();
};

}  // namespace

std::unique_ptr<Machine> this_machine() {
  return std::make_unique<ThisMachine>();
}

}  // namespace braid::runtime
