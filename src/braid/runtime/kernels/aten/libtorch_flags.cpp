#include "braid/runtime/kernels/aten/libtorch_flags.h"

#include <ATen/Context.h>
#include <c10/core/DefaultDtype.h>

#include <functional>
#include <mutex>
#include <optional>
#include <vector>

namespace braid::runtime {
namespace {

using at::Float32Backend;
using at::Float32Op;
using at::Float32Precision;

at::Context& context() { return at::globalContext(); }

// The older of libtorch's two sets of switches for precision throws when the
// newer one says something else.
template <class Get>
auto agreed(const Get& get) -> std::optional<decltype(get())> {
  try {
    return get();
  } catch (const c10::Error&) {
    return std::nullopt;
  }
}

bool is_full(Float32Precision precision) {
  return precision == Float32Precision::NONE ||
         precision == Float32Precision::IEEE;
}

// Switches that were set, and how they were before.
class Switches {
 public:
  void set_all();
  void set_cuda();
  void undo() {
    for (; !undo_.empty(); undo_.pop_back()) undo_.back()();
  }

 private:
  void set_precision(Float32Backend backend, Float32Op op);
  void set_matmul_on_cuda();
  void set_cudnn();

  std::vector<std::function<void()>> undo_;  // the last one first
};

void Switches::set_all() {
  if (context().deterministicAlgorithms()) {
    undo_.push_back([warn = context().deterministicAlgorithmsWarnOnly()] {
      context().setDeterministicAlgorithms(true, warn);
    });
    context().setDeterministicAlgorithms(false, false);
  }
  if (auto dtype = c10::get_default_dtype();
      dtype != caffe2::TypeMeta::Make<float>()) {
    undo_.push_back([dtype] { c10::set_default_dtype(dtype); });
    c10::set_default_dtype(caffe2::TypeMeta::Make<float>());
  }
  if (!context().userEnabledMkldnn()) {
    undo_.push_back([] { context().setUserEnabledMkldnn(false); });
    context().setUserEnabledMkldnn(true);
  }
  for (Float32Op op : {Float32Op::MATMUL, Float32Op::CONV, Float32Op::RNN}) {
    set_precision(Float32Backend::MKLDNN, op);
  }
}

void Switches::set_precision(Float32Backend backend, Float32Op op) {
  Float32Precision before = context().float32Precision(backend, op);
  if (is_full(before)) return;
  undo_.push_back([=] { context().setFloat32Precision(backend, op, before); });
  context().setFloat32Precision(backend, op, Float32Precision::IEEE);
}

void Switches::set_cuda() {
  set_matmul_on_cuda();
  set_cudnn();
  if (!context().deterministicCuDNN()) {
    undo_.push_back([] { context().setDeterministicCuDNN(false); });
    context().setDeterministicCuDNN(true);
  }
  if (context().benchmarkCuDNN()) {
    undo_.push_back([] { context().setBenchmarkCuDNN(true); });
    context().setBenchmarkCuDNN(false);
  }
}

void Switches::set_matmul_on_cuda() {
  if (is_full(context().float32Precision(Float32Backend::CUDA,
                                         Float32Op::MATMUL))) {
    return;
  }
  auto older = agreed([] { return context().float32MatmulPrecision(); });
  if (!older) return set_precision(Float32Backend::CUDA, Float32Op::MATMUL);
  // "medium" is also set for oneDNN, which is done with already.
  undo_.push_back([medium = *older == at::Float32MatmulPrecision::MEDIUM,
                   onednn = context().float32Precision(Float32Backend::MKLDNN,
                                                       Float32Op::MATMUL)] {
    context().setFloat32MatmulPrecision(medium ? "medium" : "high");
    context().setFloat32Precision(Float32Backend::MKLDNN, Float32Op::MATMUL,
                                  onednn);
  });
  context().setAllowTF32CuBLAS(false);
  // It may still be inherited from a switch for all of CUDA, or of libtorch.
  set_precision(Float32Backend::CUDA, Float32Op::MATMUL);
}

void Switches::set_cudnn() {
  auto older = agreed([] { return context().allowTF32CuDNN(); });
  if (older && *older) {
    undo_.push_back([] { context().setAllowTF32CuDNN(true); });
    context().setAllowTF32CuDNN(false);
  }
  set_precision(Float32Backend::CUDA, Float32Op::CONV);
  set_precision(Float32Backend::CUDA, Float32Op::RNN);
}

// How many want them, in all threads.
struct Uses {
  std::mutex mutex;
  int64_t all = 0, on_cuda = 0;
  Switches general, of_cuda;
};

Uses& uses() {
  static auto* const made = new Uses;  // threads may outlive what is static
  return *made;
}

}  // namespace

LibtorchFlags::LibtorchFlags(bool on_cuda) : on_cuda_(on_cuda) {
  std::lock_guard lock(uses().mutex);
  if (uses().all++ == 0) uses().general.set_all();
  if (on_cuda && uses().on_cuda++ == 0) uses().of_cuda.set_cuda();
}

LibtorchFlags::~LibtorchFlags() {
  std::lock_guard lock(uses().mutex);
  if (on_cuda_ && --uses().on_cuda == 0) uses().of_cuda.undo();
  if (--uses().all == 0) uses().general.undo();
}

}  // namespace braid::runtime
