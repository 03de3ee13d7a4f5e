// Kernels: how an op computes on one kind of device. A kernel is prepared
// once per call with all operands at fixed addresses and yields a function
// without arguments; running a step is calling those functions in order.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "braid/graph/graph.h"
#include "braid/runtime/tensor.h"

namespace braid::runtime {

class ScratchReserve;

// Scratch memory of one call, planned like any other. Without memory the
// kernel takes its own, and `needed_bytes` tells afterwards how much it was.
struct Workspace {
  std::byte* data = nullptr;
  int64_t bytes = 0;
  int64_t needed_bytes = 0;
  bool is_trial = false;              // run for the bytes alone, on zeros
  ScratchReserve* reserve = nullptr;  // charged for what passes `bytes`
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

using Thunk = std::function<void()>;
using Kernel = std::function<Thunk(const Call&)>;
// One function for calls of one op that do not depend on each other
// (call_groups.h), with the bits of each alone; null where it has none.
using GroupKernel = std::function<Thunk(std::span<const Call>)>;

class KernelTable {
 public:
  // Adds or replaces: own kernels are added over general ones.
  void add(std::string op, Kernel kernel);
  // For an op that is there; goes when its kernel is replaced.
  void add_group(std::string op, GroupKernel kernel);
  // The kernel of an op; throws when there is none.
  const Kernel& at(const std::string& op) const;
  Thunk prepare(const Call& call) const {
    return at(call.node->op->name)(call);
  }
  // Null where each call is to run alone.
  Thunk prepare_group(std::span<const Call> calls) const;

 private:
  std::map<std::string, Kernel> kernels_;
  std::map<std::string, GroupKernel> groups_;
};

// Every kernel for CPU tensors.
KernelTable cpu_kernels();

// Threads that one call may use, from here on, in this thread alone.
void set_call_threads(int threads);
int call_threads();

class LibtorchFlags;

// While one lives, calls in this thread compute the same whatever the process
// has set in libtorch: number of threads, precision, determinism, modes. Then
// all is set as before. A guard around passes; they may nest.
class CallSettings {
 public:
  CallSettings();
  ~CallSettings();
  CallSettings(const CallSettings&) = delete;
  CallSettings& operator=(const CallSettings&) = delete;

  // Kernels of libtorch, or of its BLAS alone, call this first: the switches
  // are set with the first of them, and not at all in passes that have none.
  static void before_libtorch(bool on_cuda);
  static void before_blas();

 private:
  friend void set_call_threads(int threads);

  CallSettings* outer_;
  int threads_;
  int mkl_threads_ = 0;
  bool is_mkl_set_ = false;
  std::unique_ptr<LibtorchFlags> flags_;
};

// While one lives, threads that wait for others in a loop give up their cores
// at once, in all of the process: good where others want them, slower where
// nobody does.
class ShortWaits {
 public:
  ShortWaits();
  ~ShortWaits();

 private:
  struct Team;
  std::unique_ptr<Team> team_;
};

}  // namespace braid::runtime
