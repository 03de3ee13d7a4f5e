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

  std::vector<plan::DeviceInfo> devices() const override {
    std::vector<plan::DeviceInfo> all{plan::cpu_device(machine_cores())};
    for (plan::DeviceInfo& info : cuda_devices()) {
      all.push_back(std::move(info));
    }
    return all;
  }

  std::unique_ptr<Backend> open(DeviceId device,
                                const Budget& budget) const override {
    std::unique_ptr<Backend> backend = make(device, budget);
    backend->host_account().set_limit(budget.host_bytes);
    return backend;
  }

 private:
  std::unique_ptr<Backend> make(DeviceId device, const Budget& budget) const {
    if (device.kind == DeviceKind::kCuda) {
      return make_cuda_backend(kernels_, {device.index, budget.bytes});
    }
    CpuOptions options;
    options.limit_bytes = budget.bytes;
    options.index = device.index;
    options.cores = budget.cores > 0 ? budget.cores : machine_cores();
    options.seat = budget.seat;
    options.watch = budget.watch;
    return std::make_unique<CpuBackend>(kernels_, options);
  }

  OpTable ops_ = standard_ops();
  std::unique_ptr<ForeignOps> foreign_ = torch_foreign_ops();
  KernelTable kernels_ = cpu_kernels();
};

}  // namespace

std::unique_ptr<Machine> this_machine() {
  return std::make_unique<ThisMachine>();
}

}  // namespace braid::runtime
