// Operators without a rule: libtorch runs them as nodes `torch_op`. Complex
// numbers are its business too.
#include "braid/base/error.h"
#include "braid/io/pt2/complex_rules.h"
#include "braid/io/pt2/importer.h"

namespace braid::io::pt2 {
namespace {

using Kind = Argument::Kind;

ForeignValue foreign_value(const Argument& argument, RuleContext& c,
                           std::vector<Var>& inputs) {
  switch (argument.kind) {
    case Kind::kTensor:
      inputs.push_back(c.read(argument));
      return ForeignValue::input(inputs.size() - 1);
    case Kind::kBool: return ForeignValue::boolean(argument.integer != 0);
    case Kind::kInteger: return ForeignValue::whole(argument.integer);
    case Kind::kNumber: return ForeignValue::real(argument.number);
    case Kind::kText: return ForeignValue::word(argument.text);
    case Kind::kType: {
      std::optional<DType> dtype = exported_dtype(argument.integer);
      if (!dtype) fail_usage("type number {}", argument.integer);
      return ForeignValue::type(*dtype);
    }
    case Kind::kSymbol: {
      Scalar value = c.scalar_of(argument);
      if (const double* real = std::get_if<double>(&value)) {
        return ForeignValue::real(*real);
      }
      if (const bool* flag = std::get_if<bool>(&value)) {
        return ForeignValue::boolean(*flag);
      }
      return ForeignValue::whole(std::get<int64_t>(value));
    }
    case Kind::kList: {
      std::vector<ForeignValue> list;
      for (const Argument& entry : argument.list) {
        list.push_back(foreign_value(entry, c, inputs));
      }
      return ForeignValue::of(std::move(list));
    }
    // Where and how a result lies is decided here, not by the file.
    case Kind::kMissing:
    case Kind::kLayout:
    case Kind::kMemoryFormat:
    case Kind::kDevice: return ForeignValue::none();
    default: fail_usage("an argument of kind '{}'", argument.text);
  }
}

// Views of libtorch that have a form with memory of its own.
std::string without_alias(const std::string& target) {
  static const std::map<std::string, std::string> names{
      {"aten::view_as_real", "aten::view_as_real_copy"},
      {"aten::_conj", "aten::_conj_physical"},
      {"aten::conj", "aten::conj_physical"}};
  auto found = names.find(target);
  return found == names.end() ? target : found->second;
}

// Only rules know what a layer does in eval form.
void check_form(RuleContext& c) {
  if (c.is_training()) return;
  for (const char* name : {"training", "train"}) {
    if (!c.flag_or(name, false)) continue;
    fail_usage(
        "has no eval form\nHINT: export without run_decompositions, or "
        "export the module in eval mode");
  }
}

}  // namespace

// The real or imaginary part of complex numbers; real numbers as they are.
void Importer::run_part(RuleContext& context) {
  if (!takes_complex(context)) return context.give_same("self");
  Var pairs = torch_op(foreign_, "aten::view_as_real_copy",
                       {{.value = ForeignValue::input(0)}},
                       {context.tensor("self")})[0];
  context.give(select(pairs, -1, context.name() == "real" ? 0 : 1));
}

// Pairs of real numbers as complex ones.
void Importer::run_complex(RuleContext& context) {
  Var x = context.tensor("self");
  context.give(torch_op(
      foreign_, "aten::complex",
      {{.value = ForeignValue::input(0)}, {.value = ForeignValue::input(1)}},
      {select(x, -1, 0), select(x, -1, 1)}));
}

void Importer::run_foreign(RuleContext& context, const std::string& target) {
  check_form(context);
  std::vector<ForeignArg> args;
  std::vector<Var> inputs;
  for (const NamedArgument& argument : context.node().inputs) {
    args.push_back(
        {argument.name, foreign_value(argument.value, context, inputs)});
  }
  if (inputs.empty()) inputs.push_back(anchor_);
  context.give(torch_op(foreign_, without_alias(target), args, inputs));
}

}  // namespace braid::io::pt2
