// Scratch: while a kernel runs, libtorch's CPU allocations on this thread are
// served from the call's planned workspace, and an allocation of the size of
// a planned output is made in that output: the output is donated, so that
// results need no copy.
//
// For this Braid's allocator stands in front of libtorch's. What is asked for
// outside of a kernel it hands on: that memory is the other allocator's own,
// whoever frees it and whenever.
#pragma once

#include <vector>

#include "braid/runtime/kernels/kernel.h"

namespace braid::runtime {

// Keeps Braid's allocator in place: the first puts it in front of the one
// that libtorch has then, the last takes it away again. Thread-safe.
class ScratchUse {
 public:
  ScratchUse();
  ~ScratchUse();
  ScratchUse(const ScratchUse&) : ScratchUse() {}
  ScratchUse& operator=(const ScratchUse&) { return *this; }
};

// Serves this thread's allocations from `workspace` until destroyed. There
// must be a ScratchUse, or nothing comes of it.
class ScratchScope {
 public:
  ScratchScope(Workspace& workspace, const std::vector<Tensor>& donated);
  ~ScratchScope();
  ScratchScope(const ScratchScope&) = delete;
  ScratchScope& operator=(const ScratchScope&) = delete;
};

// The same on other devices, whose allocators ask here first: while one lives,
// the outputs are there for allocations of their size on this thread, each
// once.
class DonatedOutputs {
 public:
  explicit DonatedOutputs(const std::vector<Tensor>& outputs);
  ~DonatedOutputs();
  DonatedOutputs(const DonatedOutputs&) = delete;
  DonatedOutputs& operator=(const DonatedOutputs&) = delete;

  // Null when there is none left of that size.
  static std::byte* take(int64_t bytes);
};

}  // namespace braid::runtime
