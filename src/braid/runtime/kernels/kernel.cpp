#include "braid/runtime/kernels/kernel.h"

#include "braid/base/error.h"

namespace braid::runtime {

void KernelTable::add(std::string op, Kernel kernel) {
  kernels_.insert_or_assign(std::move(op), std::move(kernel));
}

const Kernel& KernelTable::at(const std::string& op) const {
  auto at = kernels_.find(op);
  if (at == kernels_.end()) {
    fail_usage("[kernels] op '{}' has no kernel on this device", op);
  }
  return at->second;
}

}  // namespace braid::runtime
