// The kernels of this machine's CPU, made once for all tests of a program.
#pragma once

#include "braid/runtime/kernels/kernel.h"

namespace braid {

inline const runtime::KernelTable& kernels() {
  static const runtime::KernelTable made = runtime::cpu_kernels();
  return made;
}

}  // namespace braid
