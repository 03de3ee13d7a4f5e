// Own CPU kernels, added over the general ones of libtorch. Each looks at the
// shapes when it is prepared and leaves strided work, and work that libtorch
// does as fast, to the kernel that was there before.
#pragma once

#include "braid/runtime/kernels/kernel.h"

namespace braid::runtime {

void add_cpu_attention(KernelTable& table);
void add_cpu_dropout(KernelTable& table);
void add_cpu_embedding(KernelTable& table);
void add_cpu_gemm(KernelTable& table);
void add_cpu_loss(KernelTable& table);
void add_cpu_norm(KernelTable& table);
void add_cpu_optimizer(KernelTable& table);
void add_cpu_pointwise(KernelTable& table);
void add_cpu_reduce(KernelTable& table);

}  // namespace braid::runtime
