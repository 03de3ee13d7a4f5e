#include "braid/runtime/kernels/cpu/cpu_kernels.h"

#include "braid/runtime/kernels/aten/bind.h"

namespace braid::runtime {

KernelTable cpu_kernels() {
  const Loops loops = all_loops().back();
  KernelTable table;
  add_aten_kernels(table, at::kCPU);
  add_cpu_attention(table, loops);
  add_cpu_average(table, loops);
  add_cpu_batch_norm(table, loops);
  add_cpu_fusion(table, loops);
  add_cpu_depthwise(table, loops);
  add_cpu_dropout(table, loops);
  add_cpu_embedding(table, loops);
  add_cpu_gemm(table, loops);
  add_cpu_grouped(table, loops);
  add_cpu_loss(table, loops);
  add_cpu_max(table, loops);
  add_cpu_norm(table, loops);
  add_cpu_optimizer(table, loops);
  add_cpu_pointwise(table, loops);
  add_cpu_reduce(table, loops);
  return table;
}

}  // namespace braid::runtime
