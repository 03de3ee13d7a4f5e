#include "braid/io/pt2/importer.h"

#include <algorithm>

#include "braid/base/error.h"
#include "braid/io/pt2/scalars.h"

namespace braid::io::pt2 {
namespace {

using Kind = Argument::Kind;

constexpr std::string_view kAten = "torch.ops.aten.";
constexpr std::string_view kRegion = "torch.ops.higher_order.wrap_with_";

template <class F>
void for_each_value(const Argument& argument, const F& f) {
  if (argument.kind == Kind::kTensor || argument.kind == Kind::kSymbol) {
    f(argument.text);
  }
  for (const Argument& entry : argument.list) for_each_value(entry, f);
}

std::vector<std::string> names_of(const std::vector<Argument>& outputs) {
  std::vector<std::string> names;
  auto add = [&](const Argument& output) {
    bool bound = output.kind == Kind::kTensor || output.kind == Kind::kSymbol;
    names.push_back(bound ? output.text : "");
  };
  for (const Argument& output : outputs) {
    if (output.kind == Kind::kList) {
      for (const Argument& entry : output.list) add(entry);
    } else {
      add(output);
    }
  }
  return names;
}

bool is_in_place(std::string_view name) {
  return name.ends_with('_') && !name.ends_with("__");
}

// "aten.conv2d.default", the layer and the line of the user's source.
std::string where_of(const ExportedNode& node) {
  std::string text = node.target;
  if (text.starts_with("torch.ops.")) text.erase(0, 10);
  if (!node.layer.empty()) text += " at " + node.layer;
  if (!node.source.empty()) text += " (" + node.source + ")";
  return text;
}

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

// Rules whose gradients hold for complex numbers too: they are linear and
// their factors are real. All others are left to libtorch.
bool is_linear(std::string_view name) {
  static const std::set<std::string_view> names{
      "view",          "reshape",
      "flatten",       "unflatten",
      "unsqueeze",     "squeeze",
      "permute",       "transpose",
      "expand",        "slice",
      "select",        "unbind",
      "split",         "chunk",
      "narrow",        "alias",
      "detach",        "detach_",
      "clone",         "contiguous",
      "cat",           "stack",
      "add",           "sub",
      "neg",           "sum",
      "flip",          "roll",
      "copy",          "select_scatter",
      "repeat",        "view_as",
      "reshape_as",    "expand_as",
      "slice_scatter", "t",
      "numpy_T",       "swapaxes",
      "movedim",       "split_with_sizes",
      "resolve_conj",  "resolve_neg",
      "zeros_like",    "empty_like",
      "ones_like",     "full_like",
      "new_zeros",     "new_ones",
      "new_empty",     "new_full"};
  return names.contains(name);
}

bool takes_complex(RuleContext& c) {
  bool any = false;
  for (const NamedArgument& argument : c.node().inputs) {
    if (argument.value.kind == Kind::kTensor) {
      any = any || is_complex(c.read(argument.value).dtype());
    }
    for (const Argument& entry : argument.value.list) {
      if (entry.kind != Kind::kTensor) continue;
      any = any || is_complex(c.read(entry).dtype());
    }
  }
  return any;
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

Shape sizes_of(const TensorMeta& meta) {
  Shape shape;
  for (const Size& size : meta.sizes) shape.push_back(size.value);
  return shape;
}

}  // namespace

Importer::Importer(const OpTable& ops, const ExportedProgram& program,
                   const ForeignOps& foreign, const ImportOptions& options)
    : ops_(ops),
      program_(program),
      foreign_(foreign),
      options_(options),
      graph_(ops),
      scope_{&program.graph, {}} {}

void Importer::run(Problems& problems) {
  problems_ = &problems;
  try {
    add_placeholders();
  } catch (const std::invalid_argument& error) {
    return problems.add("", error.what());
  }
  run_graph(scope_);
  if (!problems.empty()) return;
  try {
    if (options_.form == Form::kTrain) assign_buffers();
    add_outputs();
  } catch (const std::invalid_argument& error) {
    problems.add("", error.what());
  }
}

void Importer::add_placeholders() {
  for (const InputSpec& spec : program_.inputs) {
    if (spec.kind == InputSpec::Kind::kUser) add_input(spec);
  }
  if (!anchor_) fail_usage("the model takes no tensor as input");
  for (const InputSpec& spec : program_.inputs) {
    if (spec.kind == InputSpec::Kind::kOther) {
      problems_->add("", fmt::format("an input of kind '{}'", spec.other_kind));
    } else if (spec.kind != InputSpec::Kind::kUser) {
      add_slot(spec);
    }
  }
}

void Importer::add_input(const InputSpec& spec) {
  if (spec.argument.kind != Kind::kTensor) return;  // a constant of the export
  const std::string& name = spec.argument.text;
  Var value = input(graph_, name, input_type(name));
  scope_.names[name] = tensors_.add(value);
  if (!anchor_) anchor_ = value;
}

ValueType Importer::input_type(const std::string& name) const {
  const TensorMeta& meta = program_.graph.tensors.at(name);
  std::optional<DType> dtype = exported_dtype(meta.type);
  if (!dtype) fail_usage("input '{}' is of type number {}", name, meta.type);
  auto given = options_.inputs.find(name);
  ValueType type{*dtype, sizes_of(meta)};
  if (given == options_.inputs.end()) {
    for (const Size& size : meta.sizes) {
      if (!size.symbol.empty() && size.value < 0) {
        fail_usage("input '{}': its size {} is open and not given", name,
                   size.symbol);
      }
    }
    return type;
  }
  const Shape& shape = given->second.shape;
  bool fits = shape.size() == meta.sizes.size();
  for (size_t d = 0; fits && d < shape.size(); ++d) {
    bool open = !meta.sizes[d].symbol.empty();
    fits = open || shape[d] == meta.sizes[d].value;
  }
  if (!fits) {
    fail_usage(
        "input '{}' is {}, the model was exported for {}\nHINT: export with "
        "a dynamic dimension, or with inputs of this size",
        name, shape_text(shape), shape_text(type.shape));
  }
  return {*dtype, shape};
}

void Importer::add_slot(const InputSpec& spec) {
  for (const auto* list : {&program_.weights, &program_.constants}) {
    auto tensor = std::ranges::find(*list, spec.name, &StoredTensor::name);
    if (tensor == list->end()) continue;
    scope_.names[spec.argument.text] = Pending{slot_of(spec, *tensor)};
    return;
  }
  problems_->add(spec.name, "has no content in the file");
}

// Tied tensors have one slot with several names.
SlotId Importer::slot_of(const InputSpec& spec, const StoredTensor& tensor) {
  std::optional<DType> dtype = exported_dtype(tensor.meta.type);
  if (!dtype || !tensor.meta.is_strided) {
    fail_usage("'{}' is of a type or layout that is not supported",
               tensor.name);
  }
  std::string place = (tensor.is_parameter || spec.is_persistent ? "w/" : "c/");
  place += tensor.path + "/" + shape_text(sizes_of(tensor.meta));
  auto known = slot_by_path_.find(place);
  if (!tensor.path.empty() && known != slot_by_path_.end()) {
    graph_.slot(known->second).aliases.push_back(spec.name);
    return known->second;
  }
  bool is_constant =
      spec.kind == InputSpec::Kind::kTensorConstant ||
      (spec.kind == InputSpec::Kind::kBuffer && !spec.is_persistent);
  Role role = spec.kind == InputSpec::Kind::kParameter ? Role::kParameter
              : is_constant                            ? Role::kConstant
                                                       : Role::kBuffer;
  SlotId slot = graph_.add_slot({.name = spec.name,
                                 .dtype = *dtype,
                                 .shape = sizes_of(tensor.meta),
                                 .role = role,
                                 .trainable = tensor.meta.requires_grad});
  slot_by_path_[place] = slot;
  stored_[slot] = &tensor;
  return slot;
}

void Importer::run_graph(Scope& scope) {
  std::set<std::string> used;
  auto use = [&](const std::string& name) { used.insert(name); };
  for (const ExportedNode& node : scope.graph->nodes) {
    for (const NamedArgument& in : node.inputs) for_each_value(in.value, use);
  }
  for (const Argument& output : scope.graph->outputs) {
    for_each_value(output, use);
  }
  for (const ExportedNode& node : scope.graph->nodes) {
    if (is_lost(node, scope)) continue;
    try {
      run_node(node, scope);
    } catch (const std::invalid_argument& error) {
      std::vector<std::string> names = names_of(node.outputs);
      bool wanted = std::ranges::any_of(
          names, [&](const std::string& name) { return used.contains(name); });
      // What nobody reads is no problem: LayerDrop draws such numbers.
      if (!wanted && !names.empty()) continue;
      for (const std::string& name : names) lost_.insert(name);
      problems_->add(where_of(node), error.what());
    }
  }
}

// Nodes that need a lost value are not problems of their own.
bool Importer::is_lost(const ExportedNode& node, const Scope& scope) const {
  bool lost = false;
  for (const NamedArgument& input : node.inputs) {
    for_each_value(input.value, [&](const std::string& name) {
      lost = lost || (lost_.contains(name) && !scope.names.contains(name));
    });
  }
  if (!lost) return false;
  auto& names = const_cast<std::set<std::string>&>(lost_);
  for (const std::string& name : names_of(node.outputs)) names.insert(name);
  return true;
}

void Importer::run_node(const ExportedNode& node, Scope& scope) {
  graph_.set_path(node.layer);
  RuleContext context(node, scope, tensors_, anchor_, options_.form);
  dispatch(node, scope, context);
  bind_results(node, scope, context);
}

void Importer::dispatch(const ExportedNode& node, Scope& scope,
                        RuleContext& context) {
  const std::string& target = node.target;
  if (target.starts_with(kAten)) {
    std::string rest = target.substr(kAten.size());
    size_t dot = rest.find('.');
    context.set_operator(rest.substr(0, dot),
                         dot == std::string::npos ? "" : rest.substr(dot + 1));
    return run_operator(context);
  }
  if (target.starts_with(kRegion)) return run_region(node, scope, context);
  if (target.starts_with("torch.ops.higher_order.")) {
    fail_usage("control flow that depends on data is not supported");
  }
  if (target.starts_with("torch.ops.")) {
    fail_usage(
        "is an operator of another library\nHINT: choose an implementation in "
        "plain PyTorch, such as experts_implementation=\"batched_mm\" or "
        "attn_implementation=\"sdpa\" in transformers");
  }
  run_scalar(node, context);
}

void Importer::run_operator(RuleContext& context) {
  const Rules& rules = standard_rules();
  auto rule = rules.find(context.name());
  bool is_known = rule != rules.end();
  if (takes_complex(context) && !is_linear(context.name())) is_known = false;
  if (is_known) return rule->second(context);
  if (context.name() == "real" || context.name() == "imag") {
    return run_part(context);
  }
  if (context.name() == "view_as_complex") return run_complex(context);
  if (is_in_place(context.name())) return run_in_place(context);
  std::string overload = context.overload();
  run_foreign(context, fmt::format("aten::{}{}{}", context.name(),
                                   overload == "default" ? "" : ".",
                                   overload == "default" ? "" : overload));
}

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

// x.relu_() is relu(x), whose result x becomes.
void Importer::run_in_place(RuleContext& context) {
  std::string name = context.name();
  name.pop_back();
  context.set_operator(name, context.overload());
  run_operator(context);
  if (context.results().size() != 1 || context.node().inputs.empty()) {
    fail_usage("writes to more than its first argument");
  }
  const std::string& self = context.node().inputs[0].name;
  Var value = tensors_.read(std::get<TensorId>(context.results()[0]));
  context.write(self, value);
  context.results()[0] = context.tensor_id(self);
}

void Importer::run_foreign(RuleContext& context, const std::string& target) {
  std::vector<ForeignArg> args;
  std::vector<Var> inputs;
  for (const NamedArgument& argument : context.node().inputs) {
    args.push_back(
        {argument.name, foreign_value(argument.value, context, inputs)});
  }
  if (inputs.empty()) inputs.push_back(anchor_);
  context.give(torch_op(foreign_, without_alias(target), args, inputs));
}

void Importer::run_scalar(const ExportedNode& node, RuleContext& context) {
  std::vector<Scalar> arguments;
  for (const NamedArgument& argument : node.inputs) {
    arguments.push_back(context.scalar_of(argument.value));
  }
  std::optional<Scalar> result = scalar_result(node.target, arguments);
  if (!result) fail_usage("is not known");
  context.give_scalar(*result);
}

// A block under torch.no_grad or with autocast switched off.
void Importer::run_region(const ExportedNode& node, Scope& scope,
                          RuleContext& context) {
  auto body = std::ranges::find_if(node.inputs, [](const NamedArgument& a) {
    return a.value.kind == Kind::kGraph;
  });
  if (body == node.inputs.end()) fail_usage("has no graph");
  bool is_autocast = node.target.ends_with("autocast");
  auto before = static_cast<size_t>(body - node.inputs.begin());
  auto flag = [&](size_t i) { return node.inputs.at(i).value.integer != 0; };
  if (is_autocast && before >= 3 && flag(2)) {
    fail_usage(
        "autocast inside the model is not supported\nHINT: leave it out and "
        "train with --precision bf16");
  }
  bool has_gradients = is_autocast || flag(0);
  Scope inner{body->value.graph.get(), {}};
  size_t next = before + 1;
  for (const Argument& parameter : inner.graph->inputs) {
    const Argument& given = node.inputs.at(next++).value;
    if (given.kind == Kind::kTensor) {
      inner.names[parameter.text] = context.id_of(given);
    } else {
      inner.names[parameter.text] = context.scalar_of(given);
    }
  }
  run_graph(inner);
  RuleContext inside(node, inner, tensors_, anchor_, options_.form);
  for (const Argument& output : inner.graph->outputs) {
    if (output.kind == Kind::kMissing) continue;
    TensorId id = inside.id_of(output);
    if (has_gradients) {
      context.results().push_back(id);
    } else {
      context.results().push_back(tensors_.add(detach(tensors_.read(id))));
    }
  }
  (void)scope;
}

void Importer::bind_results(const ExportedNode& node, Scope& scope,
                            RuleContext& context) {
  std::vector<std::string> names = names_of(node.outputs);
  if (names.size() > context.results().size()) {
    fail_usage("has {} results, {} are expected", context.results().size(),
               names.size());
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) continue;
    scope.names[names[i]] = context.results()[i];
    if (const auto* id = std::get_if<TensorId>(&context.results()[i])) {
      check_result(names[i], scope, tensors_.read(*id));
    }
  }
}

// The file knows what each value is: a rule that reads it otherwise is wrong.
void Importer::check_result(const std::string& name, const Scope& scope,
                            Var value) {
  auto meta = scope.graph->tensors.find(name);
  if (meta == scope.graph->tensors.end()) return;
  const TensorMeta& m = meta->second;
  bool fits = exported_dtype(m.type) == value.dtype() &&
              m.sizes.size() == value.shape().size();
  for (size_t d = 0; fits && d < m.sizes.size(); ++d) {
    fits = !m.sizes[d].symbol.empty() || m.sizes[d].value == value.shape()[d];
  }
  if (fits) return;
  std::optional<DType> dtype = exported_dtype(m.type);
  fail_usage("gives {}{}, the file says {}{}", dtype_name(value.dtype()),
             shape_text(value.shape()), dtype ? dtype_name(*dtype) : "?",
             shape_text(sizes_of(m)));
}

}  // namespace braid::io::pt2
