#include "braid/runtime/kernels/cpu/cpu_kernels.h"

#include "braid/runtime/kernels/aten/bind.h"
#include "braid/runtime/kernels/aten/scratch.h"

namespace braid::runtime {

KernelTable cpu_kernels() {
  install_scratch_allocator();
  KernelTable table;
  add_aten_kernels(table, at::kCPU);
  add_cpu_dropout(table);
  return table;
}

}  // namespace braid::runtime
