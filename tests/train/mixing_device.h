// A CPU device without arithmetic: each kernel mixes all bits of its operands
// into all bits of its results. Whatever is read at a wrong place or time shows
// in every bit that follows, so plans are compared without libtorch, also
// under sanitizers.
#pragma once

#include "braid/runtime/kernels/kernel.h"

namespace braid::runtime {

// Kernels of every op. They fill their scratch with rubbish; slots are written
// as they should be, and counters count.
KernelTable mixing_kernels();

}  // namespace braid::runtime

namespace braid::train {

// They again, made once.
inline const runtime::KernelTable& kernels() {
  static const runtime::KernelTable made = runtime::mixing_kernels();
  return made;
}

}  // namespace braid::train
