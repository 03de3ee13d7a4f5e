#include "braid/io/pt2/signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "braid/io/pt2/json_arguments.h"
#include "braid/io/pt2/output_names.h"

namespace braid::io::pt2 {
namespace {

InputSpec read_input_spec(const JsonPlace& place) {
  auto [member, value] = place.only_member();
  InputSpec spec;
  if (member == "user_input") {
    spec.argument = read_argument(value.at("arg"));
  } else if (member == "constant_input") {
    spec.argument = read_argument(value.at("value"));
    spec.name = value.at("name").text();
  } else if (member == "parameter") {
    spec.kind = InputSpec::Kind::kParameter;
    spec.argument = read_tensor_name(value.at("arg"));
    spec.name = value.at("parameter_name").text();
  } else if (member == "buffer") {
    spec.kind = InputSpec::Kind::kBuffer;
    spec.argument = read_tensor_name(value.at("arg"));
    spec.name = value.at("buffer_name").text();
    spec.is_persistent = value.at("persistent").boolean();
  } else if (member == "tensor_constant") {
    spec.kind = InputSpec::Kind::kTensorConstant;
    spec.argument = read_tensor_name(value.at("arg"));
    spec.name = value.at("tensor_constant_name").text();
  } else {
    spec.kind = InputSpec::Kind::kOther;
    spec.other_kind = member;
  }
  return spec;
}

OutputSpec read_output_spec(const JsonPlace& place) {
  auto [member, value] = place.only_member();
  OutputSpec spec;
  if (member == "user_output") {
    spec.argument = read_argument(value.at("arg"));
  } else if (member == "loss_output") {
    spec.kind = OutputSpec::Kind::kLoss;
    spec.argument = read_tensor_name(value.at("arg"));
  } else if (member == "buffer_mutation") {
    spec.kind = OutputSpec::Kind::kBufferMutation;
    spec.argument = read_tensor_name(value.at("arg"));
    spec.name = value.at("buffer_name").text();
  } else if (member == "user_input_mutation") {
    spec.kind = OutputSpec::Kind::kInputMutation;
    spec.argument = read_tensor_name(value.at("arg"));
    spec.name = value.at("user_input_name").text();
  } else {
    spec.kind = OutputSpec::Kind::kOther;
    spec.other_kind = member;
  }
  return spec;
}

// Names of what may be mutated, and the check that names are not used twice.
class InputNames {
 public:
  void add(const InputSpec& spec, const JsonPlace& place) {
    using enum InputSpec::Kind;
    if (spec.kind == kUser) users_.insert(spec.argument.text);
    if (spec.kind == kBuffer) buffers_.insert(spec.name);
    bool is_stored = spec.kind == kParameter || spec.kind == kBuffer ||
                     spec.kind == kTensorConstant;
    if (is_stored && !stored_.insert(spec.name).second) {
      place.fail(fmt::format("'{}' is an input twice", shown(spec.name)));
    }
  }

  void check(const OutputSpec& spec, const JsonPlace& place) const {
    using enum OutputSpec::Kind;
    bool is_known = spec.kind == kBufferMutation  ? buffers_.contains(spec.name)
                    : spec.kind == kInputMutation ? users_.contains(spec.name)
                                                  : true;
    if (is_known) return;
    place.fail(fmt::format("changes '{}', which is no {}", shown(spec.name),
                           spec.kind == kBufferMutation ? "buffer" : "input"));
  }

 private:
  std::set<std::string> users_, buffers_, stored_;
};

// Whether the spec is about this input of the graph. Constants have no name
// there; of the kinds that Braid does not know only the place counts.
bool fits(const InputSpec& spec, const Argument& value) {
  return spec.kind == InputSpec::Kind::kOther ||
         (spec.argument.kind == value.kind && spec.argument.text == value.text);
}

void check_count(size_t specs, size_t values, std::string_view what,
                 const JsonPlace& place) {
  if (specs == values) return;
  place.fail(fmt::format("{} {}, the graph has {}", specs, what, values));
}

void read_inputs(const JsonPlace& place, ExportedProgram& program,
                 InputNames& names) {
  const std::vector<Argument>& values = program.graph.inputs;
  place.each([&](const JsonPlace& item) {
    InputSpec spec = read_input_spec(item);
    size_t i = program.inputs.size();
    if (i < values.size() && !fits(spec, values[i])) {
      item.fail(fmt::format("'{}' is not input {} of the graph, '{}'",
                            shown(spec.argument.text), i,
                            shown(values[i].text)));
    }
    names.add(spec, item);
    program.inputs.push_back(std::move(spec));
  });
  check_count(program.inputs.size(), values.size(), "input_specs", place);
}

// The value is taken from the graph: of an element that is taken from a list
// twice the signature may name the copy that the exporter left out.
void read_outputs(const JsonPlace& place, ExportedProgram& program,
                  const InputNames& names) {
  const std::vector<Argument>& values = program.graph.outputs;
  place.each([&](const JsonPlace& item) {
    OutputSpec spec = read_output_spec(item);
    size_t i = program.outputs.size();
    if (i < values.size()) spec.argument = values[i];
    names.check(spec, item);
    program.outputs.push_back(std::move(spec));
  });
  check_count(program.outputs.size(), values.size(), "output_specs", place);
}

// The signature of forward itself; files may lack it.
JsonPlace forward_signature(const JsonPlace& calls) {
  JsonPlace found;
  calls.each([&](const JsonPlace& call) {
    if (call.at("fqn").text().empty()) found = call.find("signature");
  });
  return found;
}

std::vector<std::string> read_argument_names(const JsonPlace& forward) {
  std::vector<std::string> names;
  if (JsonPlace list = forward.find("forward_arg_names")) {
    list.each([&](const JsonPlace& name) { names.push_back(name.text()); });
  }
  return names;
}

bool is_user(const OutputSpec& spec) {
  return spec.kind == OutputSpec::Kind::kUser ||
         spec.kind == OutputSpec::Kind::kLoss;
}

void name_outputs(const JsonPlace& forward, std::vector<OutputSpec>& outputs) {
  JsonPlace tree = forward.find("out_spec");
  if (!tree) return;
  std::vector<std::string> names = output_names(tree.text());
  auto count = std::ranges::count_if(outputs, is_user);
  if (static_cast<size_t>(count) != names.size()) return;
  auto next = names.begin();
  for (OutputSpec& spec : outputs) {
    if (is_user(spec)) spec.name = *next++;
  }
}

std::vector<std::string> user_names(const std::vector<InputSpec>& inputs) {
  std::vector<std::string> names;
  for (const InputSpec& spec : inputs) {
    if (spec.kind != InputSpec::Kind::kUser) continue;
    names.push_back(spec.name.empty() ? spec.argument.text : spec.name);
  }
  return names;
}

}  // namespace

void read_signature(const JsonPlace& graph_module, ExportedProgram& program) {
  InputNames names;
  JsonPlace signature = graph_module.at("signature");
  read_inputs(signature.at("input_specs"), program, names);
  read_outputs(signature.at("output_specs"), program, names);
  if (JsonPlace calls = graph_module.find("module_call_graph")) {
    if (JsonPlace forward = forward_signature(calls)) {
      program.user_inputs = read_argument_names(forward);
      name_outputs(forward, program.outputs);
    }
  }
  if (program.user_inputs.empty()) {
    program.user_inputs = user_names(program.inputs);
  }
}

}  // namespace braid::io::pt2
