#include "braid/runtime/kernels/aten/foreign_call.h"

#include <ATen/core/List.h>
#include <ATen/core/stack.h>

#include "braid/base/error.h"
#include "braid/runtime/kernels/aten/bind.h"

namespace braid::runtime {
namespace {

using Kind = ForeignValue::Kind;

c10::OperatorHandle find_op(const std::string& target) {
  size_t dot = target.find(
      '.', target.find("::") == std::string::npos ? 0 : target.find("::"));
  std::string name = target.substr(0, dot);
  std::string overload = dot == std::string::npos ? "" : target.substr(dot + 1);
  if (overload == "default") overload = "";
  auto op = c10::Dispatcher::singleton().findSchema({name, overload});
  if (op) return *op;
  fail_usage("[torch_op] this libtorch has no operator '{}'", target);
}

// Turns arguments into what the dispatcher takes, by the schema's types.
struct Converter {
  const std::string& target;
  const std::vector<at::Tensor>& inputs;
  at::Device device;

  [[noreturn]] void refuse(const c10::Argument& arg) const {
    fail_usage("[torch_op] {}: argument '{}' does not fit its type {}", target,
               arg.name(), arg.type()->str());
  }

  at::Tensor tensor(const ForeignValue& value, const c10::Argument& arg) const {
    if (value.kind != Kind::kInput) refuse(arg);
    return inputs.at(static_cast<size_t>(value.integer));
  }

  int64_t whole(const ForeignValue& value, const c10::Argument& arg) const {
    if (value.kind == Kind::kInteger || value.kind == Kind::kBool) {
      return value.integer;
    }
    if (value.kind != Kind::kType) refuse(arg);
    return static_cast<int64_t>(scalar_type(value.dtype));
  }

  double real(const ForeignValue& value, const c10::Argument& arg) const {
    if (value.kind == Kind::kNumber) return value.number;
    return static_cast<double>(whole(value, arg));
  }

  c10::IValue scalar(const ForeignValue& value,
                     const c10::Argument& arg) const {
    if (value.kind == Kind::kNumber) return value.number;
    if (value.kind == Kind::kBool) return value.integer != 0;
    return whole(value, arg);
  }

  // A list argument of known length may be given by one number.
  std::vector<ForeignValue> entries(const ForeignValue& value,
                                    const c10::Argument& arg) const {
    if (value.kind == Kind::kList) return value.list;
    if (!arg.N()) refuse(arg);
    return std::vector<ForeignValue>(static_cast<size_t>(*arg.N()), value);
  }

  template <class T, class Convert>
  c10::IValue list(const ForeignValue& value, const c10::Argument& arg,
                   Convert convert) const {
    c10::List<T> result;
    for (const ForeignValue& entry : entries(value, arg)) {
      result.push_back(convert(entry));
    }
    return result;
  }

  c10::IValue optional_tensors(const ForeignValue& value,
                               const c10::Argument& arg) const {
    return list<std::optional<at::Tensor>>(
        value, arg, [&](const ForeignValue& v) -> std::optional<at::Tensor> {
          if (v.kind == Kind::kMissing) return std::nullopt;
          return tensor(v, arg);
        });
  }

  c10::IValue list_of(const ForeignValue& value, const c10::Type& entry,
                      const c10::Argument& arg) const {
    switch (entry.kind()) {
      case c10::TypeKind::IntType:
      case c10::TypeKind::SymIntType:
        return list<int64_t>(value, arg,
                             [&](auto& v) { return whole(v, arg); });
      case c10::TypeKind::FloatType:
        return list<double>(value, arg, [&](auto& v) { return real(v, arg); });
      case c10::TypeKind::BoolType:
        return list<bool>(value, arg,
                          [&](auto& v) { return whole(v, arg) != 0; });
      case c10::TypeKind::TensorType:
        return list<at::Tensor>(value, arg,
                                [&](auto& v) { return tensor(v, arg); });
      case c10::TypeKind::OptionalType: return optional_tensors(value, arg);
      case c10::TypeKind::NumberType: {
        c10::impl::GenericList result(c10::NumberType::get());
        for (const auto& v : entries(value, arg))
          result.push_back(scalar(v, arg));
        return result;
      }
      default: refuse(arg);
    }
  }

  c10::IValue convert(const ForeignValue& value, const c10::Type& type,
                      const c10::Argument& arg) const {
    if (value.kind == Kind::kMissing) return {};
    switch (type.kind()) {
      case c10::TypeKind::OptionalType:
        return convert(value, *type.containedType(0), arg);
      case c10::TypeKind::TensorType: return tensor(value, arg);
      case c10::TypeKind::ListType:
        return list_of(value, *type.containedType(0), arg);
      case c10::TypeKind::IntType:
      case c10::TypeKind::SymIntType: return whole(value, arg);
      case c10::TypeKind::FloatType: return real(value, arg);
      case c10::TypeKind::BoolType: return whole(value, arg) != 0;
      case c10::TypeKind::NumberType: return scalar(value, arg);
      case c10::TypeKind::DeviceObjType: return device;
      case c10::TypeKind::StringType:
        if (value.kind == Kind::kText) return value.text;
        break;
      default: break;
    }
    refuse(arg);
  }
};

void take_results(const c10::IValue& value, const std::string& target,
                  std::vector<at::Tensor>& results) {
  if (value.isTensor()) {
    results.push_back(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& t : value.toTensorVector()) results.push_back(t);
  } else {
    fail_usage("[torch_op] {} has a result that is no tensor", target);
  }
}

}  // namespace

at::Tensor stand_in(const ValueType& type) {
  auto options = at::TensorOptions(scalar_type(type.dtype));
  if (!is_differentiable(type.dtype)) return at::zeros(type.shape, options);
  at::Tensor x = at::ones(type.shape, options);
  size_t rank = type.shape.size();
  if (rank >= 2 && type.shape[rank - 1] == type.shape[rank - 2]) {
    int64_t n = type.shape[rank - 1];
    x = x + at::eye(n, options) * n;
  }
  return x;
}

ForeignCall::ForeignCall(const std::string& target,
                         std::vector<ForeignArg> args)
    : target_(target), args_(std::move(args)), op_(find_op(target)) {
  const auto& known = schema().arguments();
  for (size_t i = 0; i < args_.size(); ++i) {
    const std::string& name = args_[i].name;
    bool fits = name.empty() ? i < known.size() && !known[i].kwarg_only()
                             : schema().argumentIndexWithName(name).has_value();
    if (fits) continue;
    fail_usage("[torch_op] {} takes no argument {}", target,
               name.empty() ? fmt::format("number {}", i + 1)
                            : fmt::format("'{}'", name));
  }
}

const ForeignValue* ForeignCall::find(size_t argument) const {
  const std::string& name = schema().arguments()[argument].name();
  for (size_t i = 0; i < args_.size(); ++i) {
    bool here = args_[i].name.empty() ? i == argument : args_[i].name == name;
    if (here) return &args_[i].value;
  }
  return nullptr;
}

void ForeignCall::explain_errors(const std::function<void()>& body) const {
  try {
    body();
  } catch (const c10::Error& error) {
    std::string text = error.what_without_backtrace();
    fail_usage("[torch_op] {}: {}", target_, text.substr(0, text.find('\n')));
  }
}

std::vector<at::Tensor> ForeignCall::run(const std::vector<at::Tensor>& inputs,
                                         at::Device device) const {
  Converter converter{target_, inputs, device};
  torch::jit::Stack stack;
  for (size_t i = 0; i < schema().arguments().size(); ++i) {
    const c10::Argument& arg = schema().arguments()[i];
    if (const ForeignValue* value = find(i)) {
      stack.push_back(converter.convert(*value, *arg.type(), arg));
    } else if (arg.default_value()) {
      stack.push_back(*arg.default_value());
    } else {
      fail_usage("[torch_op] {}: argument '{}' is missing", target_,
                 arg.name());
    }
  }
  op_.callBoxed(stack);
  std::vector<at::Tensor> results;
  for (const c10::IValue& value : stack) take_results(value, target_, results);
  return results;
}

}  // namespace braid::runtime
