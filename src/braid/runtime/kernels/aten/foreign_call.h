// A call of any ATen operator by name, with arguments as a torch_op has them.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <functional>
#include <string>
#include <vector>

#include "braid/ops/core/foreign.h"

namespace braid::runtime {

class ForeignCall {
 public:
  // Throws std::invalid_argument when there is no such op, or the arguments
  // do not fit its schema.
  ForeignCall(const std::string& target, std::vector<ForeignArg> args);

  const c10::OperatorHandle& op() const { return op_; }
  const c10::FunctionSchema& schema() const { return op_.schema(); }

  // Runs it on `device`; results in order, those of lists one by one.
  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs,
                              at::Device device) const;

  // Errors of libtorch in `body` become std::invalid_argument with the name
  // of the op and without a stack trace.
  void explain_errors(const std::function<void()>& body) const;

 private:
  const ForeignValue* find(size_t argument) const;

  std::string target_;
  std::vector<ForeignArg> args_;
  c10::OperatorHandle op_;
};

// Numbers that most operators take: zeros where they may be indices, square
// matrices symmetric and not singular.
at::Tensor stand_in(const ValueType& type);

}  // namespace braid::runtime
