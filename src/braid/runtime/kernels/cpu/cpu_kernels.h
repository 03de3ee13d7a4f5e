// Own CPU kernels, added over the general ones of libtorch. Each looks at the
// shapes when it is prepared and leaves strided work, and work that libtorch
// does as fast, to the kernel that was there before. Loops are taken as values.
#pragma once

#include "braid/runtime/kernels/kernel.h"
#include "braid/runtime/kernels/loops/loops.h"

namespace braid::runtime {

// Whether there are loops of this type.
inline bool has_loops(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64;
}

// Adds a kernel for the calls that fit: prepare(call, loops) with the loops of
// the type of input 0. The others go to the kernel that was there before.
template <class Fits, class Prepare>
void add_own(KernelTable& table, const Loops& loops, const std::string& op,
             Fits fits, Prepare prepare) {
  table.add(op, [=, general = table.at(op)](const Call& c) -> Thunk {
    if (!fits(c)) return general(c);
    return c.in(0).dtype == DType::kFloat64 ? prepare(c, loops.f64)
                                            : prepare(c, loops.f32);
  });
}

void add_cpu_attention(KernelTable& table, const Loops& loops);
void add_cpu_average(KernelTable& table, const Loops& loops);
void add_cpu_batch_norm(KernelTable& table, const Loops& loops);
void add_cpu_fusion(KernelTable& table, const Loops& loops);
void add_cpu_depthwise(KernelTable& table, const Loops& loops);
void add_cpu_dropout(KernelTable& table, const Loops& loops);
void add_cpu_embedding(KernelTable& table, const Loops& loops);
void add_cpu_gemm(KernelTable& table, const Loops& loops);
void add_cpu_grouped(KernelTable& table, const Loops& loops);
void add_cpu_loss(KernelTable& table, const Loops& loops);
void add_cpu_max(KernelTable& table, const Loops& loops);
void add_cpu_norm(KernelTable& table, const Loops& loops);
void add_cpu_optimizer(KernelTable& table, const Loops& loops);
void add_cpu_pointwise(KernelTable& table, const Loops& loops);
void add_cpu_reduce(KernelTable& table, const Loops& loops);

}  // namespace braid::runtime
