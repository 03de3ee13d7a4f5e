#include "braid/runtime/kernels/aten/libtorch_flags.h"

#include <c10/core/DefaultDtype.h>

#include <optional>

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

}  // namespace

LibtorchFlags::LibtorchFlags(bool on_cuda) {
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
  if (on_cuda) set_cuda();
}

LibtorchFlags::~LibtorchFlags() {
  for (; !undo_.empty(); undo_.pop_back()) undo_.back()();
}

void LibtorchFlags::set_precision(Float32Backend backend, Float32Op op) {
  Float32Precision before = context().float32Precision(backend, op);
  if (is_full(before)) return;
  undo_.push_back([=] { context().setFloat32Precision(backend, op, before); });
  context().setFloat32Precision(backend, op, Float32Precision::IEEE);
}

void LibtorchFlags::set_cuda() {
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

void LibtorchFlags::set_matmul_on_cuda() {
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

void LibtorchFlags::set_cudnn() {
  auto older = agreed([] { return context().allowTF32CuDNN(); });
  if (older && *older) {
    undo_.push_back([] { context().setAllowTF32CuDNN(true); });
    context().setAllowTF32CuDNN(false);
  }
  set_precision(Float32Backend::CUDA, Float32Op::CONV);
  set_precision(Float32Backend::CUDA, Float32Op::RNN);
}

}  // namespace braid::runtime
