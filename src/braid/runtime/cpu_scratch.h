// Scratch bytes that kernels of the CPU take, by the calls they are for.
#pragma once

#include <map>
#include <string>

#include "braid/graph/graph.h"
#include "braid/runtime/kernels/kernel.h"

namespace braid::runtime {

class CpuScratch {
 public:
  // Borrows the kernels.
  explicit CpuScratch(const KernelTable& kernels) : kernels_(kernels) {}

  // Runs the call once for each plan::call_signature(), on zeros of its own.
  int64_t measure(const Graph& graph, const Node& node, int threads);
  void set(const std::string& signature, int64_t bytes) {
    bytes_[signature] = bytes;
  }

 private:
  const KernelTable& kernels_;
  std::map<std::string, int64_t> bytes_;
};

}  // namespace braid::runtime
