#include "braid/io/pt2/rule.h"

#include "braid/base/error.h"
#include "braid/io/pt2/scalars.h"
#include "braid/models/layers.h"

namespace braid::io::pt2 {
namespace {

using Kind = Argument::Kind;

}  // namespace

void RuleContext::set_operator(std::string name, std::string overload) {
  name_ = std::move(name);
  overload_ = std::move(overload);
}

const Argument* RuleContext::find(std::string_view name) const {
  for (const NamedArgument& argument : node_.inputs) {
    if (argument.name == name) return &argument.value;
  }
  return nullptr;
}

const Argument& RuleContext::at(std::string_view name) const {
  const Argument* found = find(name);
  if (!found || found->kind == Kind::kMissing) {
    fail_usage("argument '{}' is missing", name);
  }
  return *found;
}

bool RuleContext::has(std::string_view name) const {
  const Argument* found = find(name);
  return found && found->kind != Kind::kMissing;
}

bool RuleContext::is_tensor(std::string_view name) const {
  const Argument* found = find(name);
  return found && found->kind == Kind::kTensor;
}

bool RuleContext::is_list(std::string_view name) const {
  const Argument* found = find(name);
  return found && found->kind == Kind::kList;
}

TensorId RuleContext::id_of(const Argument& argument) {
  auto bound = scope_.names.find(argument.text);
  if (argument.kind != Kind::kTensor || bound == scope_.names.end() ||
      std::holds_alternative<Scalar>(bound->second)) {
    fail_usage("'{}' is no tensor", argument.text);
  }
  if (const Pending* pending = std::get_if<Pending>(&bound->second)) {
    bound->second = tensors_.add_slot(graph(), pending->slot);
  }
  return std::get<TensorId>(bound->second);
}

TensorId RuleContext::tensor_id(std::string_view name) {
  return id_of(at(name));
}

Var RuleContext::tensor(std::string_view name) { return read(at(name)); }

Var RuleContext::read(const Argument& argument) {
  Var value = tensors_.read(id_of(argument));
  bool is_cast = types_.inputs && is_floating(value.dtype()) &&
                 value.dtype() != DType::kFloat64 &&
                 value.dtype() != *types_.inputs;
  if (!is_cast) return value;
  Var& cast = casts_[value.id];
  if (!cast) cast = braid::cast(value, *types_.inputs);
  return cast;
}

void RuleContext::give(Var value) {
  bool is_cast = types_.result && is_floating(value.dtype());
  results_.push_back(
      tensors_.add(is_cast ? cast(value, *types_.result) : value));
}

Var RuleContext::tensor_or_none(std::string_view name) {
  return has(name) ? tensor(name) : Var{};
}

std::vector<Var> RuleContext::tensors(std::string_view name) {
  std::vector<Var> list;
  for (const Argument& entry : at(name).list) list.push_back(read(entry));
  return list;
}

std::vector<Var> RuleContext::tensors_or_none(std::string_view name) {
  std::vector<Var> list;
  for (const Argument& entry : at(name).list) {
    list.push_back(entry.kind == Kind::kMissing ? Var{} : read(entry));
  }
  return list;
}

Scalar RuleContext::scalar_of(const Argument& argument) const {
  switch (argument.kind) {
    case Kind::kBool: return argument.integer != 0;
    case Kind::kInteger: return argument.integer;
    case Kind::kNumber: return argument.number;
    case Kind::kSymbol: {
      auto bound = scope_.names.find(argument.text);
      if (bound != scope_.names.end() &&
          std::holds_alternative<Scalar>(bound->second)) {
        return std::get<Scalar>(bound->second);
      }
      fail_usage("'{}' is not known before the run", argument.text);
    }
    default: fail_usage("a number is expected");
  }
}

Scalar RuleContext::scalar(std::string_view name) {
  return scalar_of(at(name));
}

int64_t RuleContext::integer(std::string_view name) {
  return whole(scalar(name));
}

int64_t RuleContext::integer_or(std::string_view name, int64_t fallback) {
  return has(name) ? integer(name) : fallback;
}

double RuleContext::number(std::string_view name) { return real(scalar(name)); }

double RuleContext::number_or(std::string_view name, double fallback) {
  return has(name) ? number(name) : fallback;
}

bool RuleContext::flag_or(std::string_view name, bool fallback) {
  return has(name) ? integer(name) != 0 : fallback;
}

Ints RuleContext::ints(std::string_view name) {
  const Argument& argument = at(name);
  if (argument.kind != Kind::kList) return {whole(scalar_of(argument))};
  Ints list;
  for (const Argument& entry : argument.list) {
    list.push_back(whole(scalar_of(entry)));
  }
  return list;
}

Ints RuleContext::ints_or(std::string_view name, const Ints& fallback) {
  return has(name) ? ints(name) : fallback;
}

std::vector<double> RuleContext::numbers(std::string_view name) {
  std::vector<double> list;
  for (const Argument& entry : at(name).list) {
    list.push_back(real(scalar_of(entry)));
  }
  return list;
}

std::string RuleContext::text(std::string_view name) {
  if (at(name).kind != Kind::kText) fail_usage("'{}' is no text", name);
  return at(name).text;
}

std::string RuleContext::text_or(std::string_view name,
                                 const std::string& fallback) {
  return has(name) ? text(name) : fallback;
}

DType RuleContext::type_or_result(std::string_view name) {
  int64_t number = 0;
  if (has(name)) {
    number = at(name).integer;
  } else if (const TensorMeta* meta = meta_of_result(0)) {
    number = meta->type;
  }
  std::optional<DType> dtype = exported_dtype(number);
  if (!dtype) fail_usage("the type number {} is not supported", number);
  return *dtype;
}

bool RuleContext::trains(std::string_view name, bool fallback) {
  return is_training() && flag_or(name, fallback);
}

const TensorMeta* RuleContext::meta_of(std::string_view argument) const {
  const Argument* found = find(argument);
  if (!found || found->kind != Kind::kTensor) return nullptr;
  auto meta = scope_.graph->tensors.find(found->text);
  return meta == scope_.graph->tensors.end() ? nullptr : &meta->second;
}

const TensorMeta* RuleContext::meta_of_result(size_t i) const {
  if (i >= node_.outputs.size()) return nullptr;
  const Argument* output = &node_.outputs[i];
  if (output->kind == Kind::kList && !output->list.empty()) {
    output = &output->list[0];
  }
  auto meta = scope_.graph->tensors.find(output->text);
  return meta == scope_.graph->tensors.end() ? nullptr : &meta->second;
}

void RuleContext::give(const std::vector<Var>& values) {
  for (Var value : values) give(value);
}

void RuleContext::give_view(std::string_view of, ViewStep step) {
  results_.push_back(tensors_.add_view(tensor_id(of), std::move(step)));
}

void RuleContext::give_same(std::string_view of) {
  results_.push_back(tensor_id(of));
}

void RuleContext::write(std::string_view name, Var value) {
  TensorId id = tensor_id(name);
  Var before = tensors_.read(id);
  if (value.dtype() != before.dtype()) value = cast(value, before.dtype());
  if (value.shape() != before.shape()) value = expand(value, before.shape());
  tensors_.write(id, has_gradients_ ? value : braid::detach(value));
}

Draw RuleContext::draw(double p) {
  if (p == 0 || !is_training()) return {};
  return models::draw(graph(), p);
}

}  // namespace braid::io::pt2
