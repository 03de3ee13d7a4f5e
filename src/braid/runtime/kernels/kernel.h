// Kernels: how an op computes on one kind of device. A kernel is prepared
// once per call with all operands at fixed addresses and yields a function
// without arguments; running a step is calling those functions in order.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "braid/graph/graph.h"
#include "braid/runtime/tensor.h"

namespace braid::runtime {

// Scratch memory of one call, planned like any other. Without memory the
// kernel takes its own, and `needed_bytes` tells afterwards how much it was.
struct Workspace {
  std::byte* data = nullptr;
  int64_t bytes = 0;
  int64_t needed_bytes = 0;
  bool is_trial = false;  // run for the bytes alone, on zeros
};

struct Call {
  const Node* node = nullptr;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;     // assign, accumulate: the slot
  Workspace* workspace = nullptr;  // outlives the prepared function

  const Attrs& attrs() const { return node->attrs; }
  const Tensor& in(size_t i) const { return inputs[i]; }
  const Tensor& out(size_t i) const { return outputs[i]; }
  bool has(size_t i) const { return i < inputs.size() && inputs[i]; }
  int64_t members() const { return attrs().integer_or("members", 0); }
};

using Run = std::function<void()>;
using Kernel = std::function<Run(const Call&)>;

class KernelTable {
 public:
  // Adds or replaces: own kernels are added over general ones.
  void add(std::string op, Kernel kernel);
  // The kernel of an op; throws when there is none.
  const Kernel& at(const std::string& op) const;
  Run prepare(const Call& call) const { return at(call.node->op->name)(call); }

 private:
  std::map<std::string, Kernel> kernels_;
};

// Every kernel for CPU tensors.
KernelTable cpu_kernels();

// Threads that one call may use, from here on, in this thread.
void set_call_threads(int threads);
int call_threads();

}  // namespace braid::runtime
