// Types of torch_op nodes, found by running the operator on tensors without
// memory, or where it has no such form on small stand-ins; on the way every
// operator that it calls is looked at.
#include "braid/runtime/foreign_ops.h"

#include <ATen/record_function.h>

#include <algorithm>

#include "braid/base/error.h"
#include "braid/runtime/kernels/aten/bind.h"
#include "braid/runtime/kernels/aten/foreign_call.h"

namespace braid::runtime {
namespace {

bool is_random(const c10::OperatorHandle& op) {
  return op.hasTag(at::Tag::nondeterministic_seeded);
}

// Why an operator may not run as a torch_op; empty when it may.
std::string reason_against(const c10::OperatorHandle& op) {
  if (is_random(op)) {
    return "is random: take its numbers as an input, or draw with dropout or "
           "bernoulli_";
  }
  if (op.hasTag(at::Tag::dynamic_output_shape) ||
      op.hasTag(at::Tag::data_dependent_output)) {
    return "has a result whose shape depends on data";
  }
  return "";
}

std::string reason_against(const c10::FunctionSchema& schema) {
  if (schema.is_mutable()) return "writes to its arguments";
  for (const c10::Argument& result : schema.returns()) {
    if (result.alias_info()) return "has a result that aliases its arguments";
  }
  return "";
}

// A random operator among those that the present call has made.
thread_local std::string found_random;

std::unique_ptr<at::ObserverContext> look_at_call(
    const at::RecordFunction& call) {
  auto name = call.operator_name();
  if (!name) return nullptr;
  auto op = c10::Dispatcher::singleton().findOp(*name);
  if (op && op->hasSchema() && is_random(*op)) found_random = name->name;
  return nullptr;
}

class Observer {
 public:
  Observer()
      : handle_(at::addThreadLocalCallback(
            at::RecordFunctionCallback(look_at_call)
                .scopes({at::RecordScope::FUNCTION}))) {
    found_random.clear();
  }
  ~Observer() { at::removeCallback(handle_); }
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

 private:
  at::CallbackHandle handle_;
};

at::Tensor without_memory(const ValueType& type) {
  return at::empty(type.shape,
                   at::TensorOptions(at::kMeta).dtype(scalar_type(type.dtype)));
}

class TorchForeignOps : public ForeignOps {
 public:
  std::vector<ValueType> infer(
      const std::string& target, const std::vector<ForeignArg>& args,
      const std::vector<ValueType>& inputs) const override {
    ForeignCall call(target, args);
    for (const std::string& reason :
         {reason_against(call.schema()), reason_against(call.op())}) {
      if (!reason.empty()) fail_usage("[torch_op] {} {}", target, reason);
    }
    std::vector<at::Tensor> results;
    call.explain_errors([&] { results = try_call(target, call, inputs); });
    std::vector<ValueType> types;
    for (const at::Tensor& result : results) {
      types.push_back(type_of(target, result));
    }
    if (types.empty()) fail_usage("[torch_op] {} has no result", target);
    return types;
  }

 private:
  static std::vector<at::Tensor> try_call(
      const std::string& target, const ForeignCall& call,
      const std::vector<ValueType>& inputs) {
    Observer observer;
    std::vector<at::Tensor> results;
    try {
      results = call.run(made(inputs, without_memory), at::kMeta);
    } catch (const c10::NotImplementedError&) {
      results = call.run(made(inputs, stand_in), at::kCPU);
    }
    if (!found_random.empty()) {
      fail_usage("[torch_op] {} calls {}, which is random", target,
                 found_random);
    }
    return results;
  }

  static std::vector<at::Tensor> made(const std::vector<ValueType>& types,
                                      at::Tensor (*make)(const ValueType&)) {
    std::vector<at::Tensor> tensors(types.size());
    std::transform(types.begin(), types.end(), tensors.begin(), make);
    return tensors;
  }

  static ValueType type_of(const std::string& target, const at::Tensor& t) {
    if (!t.defined()) {
      fail_usage("[torch_op] {} leaves out one of its results", target);
    }
    std::optional<DType> dtype = dtype_of(t.scalar_type());
    if (!dtype) {
      fail_usage("[torch_op] {} has a result of type {}", target,
                 at::toString(t.scalar_type()));
    }
    return {*dtype, t.sizes().vec()};
  }
};

}  // namespace

std::unique_ptr<ForeignOps> torch_foreign_ops() {
  return std::make_unique<TorchForeignOps>();
}

}  // namespace braid::runtime
