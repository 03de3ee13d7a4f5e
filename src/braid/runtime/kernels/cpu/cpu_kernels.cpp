#include "braid/runtime/kernels/cpu/cpu_kernels.h"

#include "braid/runtime/kernels/aten/bind.h"
#include "braid/runtime/kernels/aten/scratch.h"

namespace braid::runtime {

KernelTable cpu_kernels() {
  install_scratch_allocator();
  KernelTable table;
  add_aten_kernels(table, at::kCPU);
  add_cpu_attention(table);
  add_cpu_dropout(table);
  add_cpu_embedding(table);
  add_cpu_gemm(table);
  add_cpu_loss(table);
  add_cpu_norm(table);
  add_cpu_optimizer(table);
  add_cpu_pointwise(table);
  add_cpu_reduce(table);
  return table;
}

}  // namespace braid::runtime
