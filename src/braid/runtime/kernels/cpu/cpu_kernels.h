// Own CPU kernels, added over the general ones of libtorch. Each looks at the
// shapes when it is prepared and leaves large or strided work to libtorch
// where that is as fast.
#pragma once

#include "braid/runtime/kernels/kernel.h"

namespace braid::runtime {

void add_cpu_dropout(KernelTable& table);

}  // namespace braid::runtime
