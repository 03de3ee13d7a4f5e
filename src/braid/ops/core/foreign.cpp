#include "braid/ops/core/foreign.h"

#include <cmath>

#include "braid/graph/text_tokens.h"
#include "braid/ops/core/families.h"
#include "braid/ops/core/traits.h"

namespace braid {
namespace {

constexpr int kMaxDepth = 4;  // of lists in lists
constexpr size_t kMaxInputs = 4096;

std::string value_text(const ForeignValue& value) {
  switch (value.kind) {
    case ForeignValue::Kind::kMissing: return "none";
    case ForeignValue::Kind::kInput: return fmt::format("${}", value.integer);
    case ForeignValue::Kind::kBool: return value.integer ? "true" : "false";
    case ForeignValue::Kind::kInteger: return fmt::format("{}", value.integer);
    case ForeignValue::Kind::kNumber: return number_text(value.number);
    case ForeignValue::Kind::kText: return quoted_text(value.text);
    case ForeignValue::Kind::kType: return std::string(dtype_name(value.dtype));
    case ForeignValue::Kind::kList: break;
  }
  std::string text = "[";
  for (const ForeignValue& entry : value.list) {
    text += (text.size() > 1 ? ", " : "") + value_text(entry);
  }
  return text + "]";
}

ForeignValue read_value(TokenReader& in, int depth);

ForeignValue read_list(TokenReader& in, int depth) {
  if (depth == kMaxDepth) in.fail("lists are nested too deeply");
  std::vector<ForeignValue> list;
  if (in.take(']')) return ForeignValue::of({});
  do {
    list.push_back(read_value(in, depth + 1));
  } while (in.take(','));
  in.expect(']');
  return ForeignValue::of(std::move(list));
}

ForeignValue read_input(TokenReader& in) {
  int64_t place = in.integer();
  if (place < 0) in.fail("there is no input ${}", place);
  return ForeignValue::input(static_cast<size_t>(place));
}

// A word that is a value; nothing for one that is the name of an argument.
std::optional<ForeignValue> value_of_word(std::string_view word) {
  if (word == "none") return ForeignValue::none();
  if (word == "true" || word == "false") {
    return ForeignValue::boolean(word == "true");
  }
  if (word == "inf") return ForeignValue::real(HUGE_VAL);
  if (word == "nan") return ForeignValue::real(NAN);
  if (std::optional<DType> dtype = find_dtype(word)) {
    return ForeignValue::type(*dtype);
  }
  return std::nullopt;
}

ForeignValue read_value(TokenReader& in, int depth) {
  if (in.take('$')) return read_input(in);
  if (in.take('[')) return read_list(in, depth);
  if (in.peek() == '"') return ForeignValue::word(in.quoted());
  if (std::string_view word = in.word(); !word.empty()) {
    if (std::optional<ForeignValue> value = value_of_word(word)) return *value;
    in.fail("'{}' is no value", word);
  }
  Attr number = in.attr();
  if (const double* real = std::get_if<double>(&number)) {
    return ForeignValue::real(*real);
  }
  if (const int64_t* whole = std::get_if<int64_t>(&number)) {
    return ForeignValue::whole(*whole);
  }
  in.fail("expected a value");
}

ForeignArg read_arg(TokenReader& in) {
  std::string_view word = in.word();
  if (word.empty()) return {{}, read_value(in, 0)};
  if (in.take('=')) return {std::string(word), read_value(in, 0)};
  std::optional<ForeignValue> value = value_of_word(word);
  if (!value) in.fail("'{}' is no value", word);
  return {{}, *value};
}

void check_inputs(const NodeView& v, const ForeignValue& value, size_t count) {
  for (const ForeignValue& entry : value.list) check_inputs(v, entry, count);
  if (value.kind != ForeignValue::Kind::kInput) return;
  auto place = static_cast<size_t>(value.integer);
  if (place >= count || !v.has(place)) v.fail("there is no input ${}", place);
}

// The first `count` inputs are those of the forward op.
void check_args(const NodeView& v, size_t count) {
  v.attrs().text("target");
  for (const auto& arg : parse_foreign_args(v.attrs().text("args"))) {
    check_inputs(v, arg.value, count);
  }
}

std::vector<ValueType> forward_shape(const NodeView& v) {
  check_args(v, v.count());
  return parse_types(v.attrs().text("types"));
}

// Inputs: those of the forward node, then the gradients of its outputs,
// missing where there is none. Outputs: gradients of the inputs `wants`.
std::vector<ValueType> backward_shape(const NodeView& v) {
  int64_t count = v.attrs().integer("inputs");
  if (count < 1 || static_cast<size_t>(count) > v.count()) {
    v.fail("inputs is {} of {}", count, v.count());
  }
  check_args(v, static_cast<size_t>(count));
  std::vector<ValueType> types;
  for (int64_t i : v.attrs().ints("wants")) {
    if (i < 0 || i >= count || !v.has(static_cast<size_t>(i))) {
      v.fail("wants the gradient of input {}", i);
    }
    types.push_back(v.type(static_cast<size_t>(i)));
  }
  return types;
}

void foreign_vjp(VjpContext& c) {
  std::vector<Var> inputs;
  Ints wants;
  for (size_t i = 0; i < c.node().inputs.size(); ++i) {
    inputs.push_back(c.in(i));
    if (c.needs(i)) wants.push_back(static_cast<int64_t>(i));
  }
  auto count = static_cast<int64_t>(inputs.size());
  for (size_t i = 0; i < c.node().outputs.size(); ++i) {
    inputs.push_back(c.has_grad(i) ? c.grad(i) : Var{});
  }
  std::vector<Var> grads = apply_all("torch_op_backward", inputs,
                                     {{"target", c.attrs().text("target")},
                                      {"args", c.attrs().text("args")},
                                      {"inputs", count},
                                      {"wants", wants}});
  for (size_t i = 0; i < wants.size(); ++i) {
    c.give(static_cast<size_t>(wants[i]), grads[i]);
  }
}

}  // namespace

ForeignValue ForeignValue::input(size_t place) {
  return {.kind = Kind::kInput, .integer = static_cast<int64_t>(place)};
}
ForeignValue ForeignValue::boolean(bool value) {
  return {.kind = Kind::kBool, .integer = value};
}
ForeignValue ForeignValue::whole(int64_t value) {
  return {.kind = Kind::kInteger, .integer = value};
}
ForeignValue ForeignValue::real(double value) {
  return {.kind = Kind::kNumber, .number = value};
}
ForeignValue ForeignValue::word(std::string value) {
  return {.kind = Kind::kText, .text = std::move(value)};
}
ForeignValue ForeignValue::type(DType value) {
  return {.kind = Kind::kType, .dtype = value};
}
ForeignValue ForeignValue::of(std::vector<ForeignValue> list) {
  return {.kind = Kind::kList, .list = std::move(list)};
}

std::string print_foreign_args(const std::vector<ForeignArg>& args) {
  std::string text;
  for (const ForeignArg& arg : args) {
    text += text.empty() ? "" : ", ";
    text += arg.name.empty() ? "" : arg.name + "=";
    text += value_text(arg.value);
  }
  return text;
}

std::vector<ForeignArg> parse_foreign_args(std::string_view text) {
  TokenReader in(text, 1);
  std::vector<ForeignArg> args;
  if (in.done()) return args;
  do {
    args.push_back(read_arg(in));
    if (args.back().name.empty() && args.size() > 1 &&
        !args[args.size() - 2].name.empty()) {
      in.fail("an argument by position follows one by name");
    }
  } while (in.take(','));
  in.expect_done();
  return args;
}

std::string print_types(const std::vector<ValueType>& types) {
  std::string text;
  for (const ValueType& type : types) {
    text += text.empty() ? "" : " ";
    text += std::string(dtype_name(type.dtype)) + shape_text(type.shape);
  }
  return text;
}

std::vector<ValueType> parse_types(std::string_view text) {
  TokenReader in(text, 1);
  std::vector<ValueType> types;
  while (!in.done()) {
    std::string_view name = in.word();
    std::optional<DType> dtype = find_dtype(name);
    if (!dtype) in.fail("'{}' is no type such as f32[4, 3]", name);
    types.push_back({*dtype, in.integers()});
    for (int64_t size : types.back().shape) {
      if (size < 0) in.fail("a dimension of {}", size);
    }
  }
  if (types.empty()) in.fail("no type is given");
  return types;
}

std::vector<Var> torch_op(const ForeignOps& foreign, const std::string& target,
                          const std::vector<ForeignArg>& args,
                          const std::vector<Var>& inputs) {
  std::vector<ValueType> types;
  for (Var x : inputs) types.push_back(x.type());
  return apply_all(
      "torch_op", inputs,
      {{"target", target},
       {"args", print_foreign_args(args)},
       {"types", print_types(foreign.infer(target, args, types))}});
}

void add_foreign_ops(OpTable& table) {
  table.add({.name = "torch_op",
             .summary = "any other op of ATen, see `target`",
             .kind = OpKind::kForeign,
             .min_inputs = 0,
             .max_inputs = kMaxInputs,
             .shape = forward_shape,
             .vjp = foreign_vjp,
             .takes_all_gradients = true,
             .array = array_loop,
             .array_rule = ArrayRule::kLoop});
  table.add({.name = "torch_op_backward",
             .summary = "gradients of a torch_op, by running it once more",
             .kind = OpKind::kForeignBackward,
             .max_inputs = 2 * kMaxInputs,
             .shape = backward_shape});
}

}  // namespace braid
