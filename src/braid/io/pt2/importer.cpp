#include "braid/io/pt2/importer.h"

#include <algorithm>

#include "braid/base/error.h"
#include "braid/io/pt2/complex_rules.h"
#include "braid/io/pt2/scalars.h"

namespace braid::io::pt2 {
namespace {

using Kind = Argument::Kind;

constexpr std::string_view kOps = "torch.ops.";
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

// The rule of an operator that is not ATen's but that we know, by library and
// name: "transformers.grouped_mm_fallback". None for all others.
Rule library_rule(const std::string& target) {
  if (!target.starts_with(kOps)) return nullptr;
  std::string name = target.substr(kOps.size());
  auto rule = standard_rules().find(name.substr(0, name.rfind('.')));
  return rule == standard_rules().end() ? nullptr : rule->second;
}

// Whether a node may change one of its arguments.
bool may_write(const ExportedNode& node) {
  if (library_rule(node.target)) return false;
  if (!node.target.starts_with(kAten)) return true;
  std::string name = node.target.substr(kAten.size());
  name = name.substr(0, name.find('.'));
  bool has_out = std::ranges::any_of(
      node.inputs, [](const NamedArgument& a) { return a.name == "out"; });
  return has_out || is_in_place(name) || name.ends_with("_norm") ||
         node.outputs.empty();
}

// "aten.conv2d.default", the layer and the line of the user's source.
std::string where_of(const ExportedNode& node) {
  std::string text = node.target;
  if (text.starts_with("torch.ops.")) text.erase(0, 10);
  if (!node.layer.empty()) text += " at " + node.layer;
  if (!node.source.empty()) text += " (" + node.source + ")";
  return text;
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
  } catch (const std::exception& error) {
    return problems.add("", error.what());
  }
  if (!check_sizes()) return;  // whatever follows would come from that
  run_graph(scope_);
  if (!problems.empty()) return;
  try {
    if (options_.form == Form::kTrain) assign_buffers();
    add_outputs();
  } catch (const std::exception& error) {
    problems.add("", error.what());
  }
}

void Importer::run_graph(Scope& scope) {
  auto use = [&](const std::string& name) { scope.used.insert(name); };
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
    } catch (const std::exception& error) {
      // A file may say anything: whatever a rule trips over is its problem.
      std::vector<std::string> names = names_of(node.outputs);
      bool wanted = std::ranges::any_of(names, [&](const std::string& name) {
        return scope.used.contains(name);
      });
      // What nobody reads is no problem: LayerDrop draws such numbers.
      if (!wanted && !may_write(node)) continue;
      for (const std::string& name : names) stand_in_for(name, scope);
      problems_->add(where_of(node), error.what());
    }
  }
}

// After a problem the walk goes on with what the file says about the result,
// so that later problems are found as well.
void Importer::stand_in_for(const std::string& name, Scope& scope) {
  auto meta = scope.graph->tensors.find(name);
  std::optional<DType> dtype;
  if (meta != scope.graph->tensors.end()) {
    dtype = exported_dtype(meta->second.type);
  }
  if (!dtype) return void(lost_.insert(name));
  try {
    Shape shape = sizes_of(meta->second);
    for (int64_t& size : shape) size = std::max<int64_t>(size, 0);
    scope.names[name] = tensors_.add(full(anchor_, shape, 0, *dtype));
  } catch (const std::exception&) {
    lost_.insert(name);
  }
}

// Nodes that need a lost value are not problems of their own.
bool Importer::is_lost(const ExportedNode& node, const Scope& scope) {
  bool lost = false;
  for (const NamedArgument& input : node.inputs) {
    for_each_value(input.value, [&](const std::string& name) {
      lost = lost || (lost_.contains(name) && !scope.names.contains(name));
    });
  }
  if (!lost) return false;
  for (const std::string& name : names_of(node.outputs)) lost_.insert(name);
  return true;
}

void Importer::run_node(const ExportedNode& node, Scope& scope) {
  graph_.set_path(node.layer);
  RuleContext context(node, scope, tensors_, anchor_, options_.form);
  context.set_gradients(no_gradients_ == 0);
  context.set_types(work_types(node, *scope.graph));
  try {
    dispatch(node, context);
  } catch (const std::out_of_range&) {  // of a list in a malformed file
    fail_usage("has too few arguments");
  }
  bind_results(node, scope, context);
}

void Importer::dispatch(const ExportedNode& node, RuleContext& context) {
  const std::string& target = node.target;
  if (target.starts_with(kAten)) {
    std::string rest = target.substr(kAten.size());
    size_t dot = rest.find('.');
    context.set_operator(rest.substr(0, dot),
                         dot == std::string::npos ? "" : rest.substr(dot + 1));
    return run_operator(context);
  }
  if (Rule rule = library_rule(target)) return rule(context);
  if (target.starts_with(kRegion)) return run_region(node, context);
  if (target.starts_with("torch.ops.higher_order.")) {
    fail_usage(
        "is not supported: control flow that depends on data, or a function "
        "given to an operator");
  }
  if (target.starts_with(kOps)) {
    fail_usage(
        "is an operator of another library\nHINT: choose an implementation in "
        "plain PyTorch, such as experts_implementation=\"grouped_mm\" or "
        "attn_implementation=\"sdpa\" in transformers");
  }
  if (target.starts_with("torch._functorch.")) {
    fail_usage(
        "is a part of torch.func, which is not supported\nHINT: write the "
        "batch dimension out instead of torch.vmap");
  }
  run_scalar(node, context);
}

void Importer::run_operator(RuleContext& context) {
  const Rules& rules = standard_rules();
  auto rule = rules.find(context.name());
  bool is_known = rule != rules.end();
  if (takes_complex(context) && !is_linear(context.name())) is_known = false;
  if (is_known) {
    rule->second(context);
    if (context.has("out")) write_result(context, "out");
    return;
  }
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

// x.relu_() is relu(x), whose result x becomes.
void Importer::run_in_place(RuleContext& context) {
  std::string name = context.name();
  name.pop_back();
  context.set_operator(name, context.overload());
  run_operator(context);
  if (context.node().inputs.empty()) fail_usage("writes to nothing");
  write_result(context, context.node().inputs[0].name);
}

// The only result becomes the content of an argument, which then is it.
void Importer::write_result(RuleContext& context, const std::string& argument) {
  if (context.results().size() != 1) {
    fail_usage("writes to more than one argument");
  }
  const auto* result = std::get_if<TensorId>(&context.results()[0]);
  if (!result) fail_usage("writes a number");
  context.write(argument, tensors_.read(*result));
  context.results()[0] = context.tensor_id(argument);
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

// A block under torch.no_grad or torch.autocast.
void Importer::run_region(const ExportedNode& node, RuleContext& context) {
  auto body = std::ranges::find_if(node.inputs, [](const NamedArgument& a) {
    return a.value.kind == Kind::kGraph;
  });
  if (body == node.inputs.end()) fail_usage("has no graph");
  bool is_autocast = node.target.ends_with("autocast");
  auto before = static_cast<size_t>(body - node.inputs.begin());
  auto flag = [&](size_t i) { return node.inputs.at(i).value.integer != 0; };
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
  no_gradients_ += has_gradients ? 0 : 1;
  run_graph(inner);
  no_gradients_ -= has_gradients ? 0 : 1;
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
    // Of what nobody reads the file may be wrong: torch 2.11 writes other
    // shapes for the last states of recurrent layers.
    const auto* id = std::get_if<TensorId>(&context.results()[i]);
    if (id && scope.used.contains(names[i])) {
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
