#include "braid/runtime/kernels/kernel.h"

#include "braid/base/error.h"

namespace braid::runtime {

void KernelTable::add(std::string op, Kernel kernel) {
  kernels_.insert_or_assign(std::move(op), std::move(kernel));
}

Run KernelTable::prepare(const Call& call) const {
  auto at = kernels_.find(call.node->op);
  if (at == kernels_.end()) {
    fail_usage("[kernels] op '{}' has no kernel on this device", call.node->op);
  }
  return at->second(call);
}

}  // namespace braid::runtime
