#include "braid/runtime/kernels/kernel.h"

#include "braid/base/error.h"

namespace braid::runtime {

void KernelTable::add(std::string op, Kernel kernel) {
  groups_.erase(op);
  kernels_.insert_or_assign(std::move(op), std::move(kernel));
}

void KernelTable::add_group(std::string op, GroupKernel kernel) {
  at(op);
  groups_.insert_or_assign(std::move(op), std::move(kernel));
}

Thunk KernelTable::prepare_group(std::span<const Call> calls) const {
  auto at = groups_.find(calls[0].node->op->name);
  return at == groups_.end() ? Thunk{} : at->second(calls);
}

const Kernel& KernelTable::at(const std::string& op) const {
  auto at = kernels_.find(op);
  if (at == kernels_.end()) {
    fail_usage("[kernels] op '{}' has no kernel on this device", op);
  }
  return at->second;
}

}  // namespace braid::runtime
