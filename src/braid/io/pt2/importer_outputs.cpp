// What leaves an imported graph: new contents of buffers, the loss, outputs.
#include "braid/base/error.h"
#include "braid/base/text.h"
#include "braid/io/pt2/importer.h"
#include "braid/ops/build/named_losses.h"

namespace braid::io::pt2 {
namespace {

using Kind = Argument::Kind;

// A tensor that forward returns, not one that it writes.
bool is_result(const OutputSpec& spec) {
  bool is_user = spec.kind == OutputSpec::Kind::kUser ||
                 spec.kind == OutputSpec::Kind::kLoss;
  return is_user && spec.argument.kind == Kind::kTensor;
}

// In a dict its key, else the name of the value.
const std::string& name_of(const OutputSpec& spec) {
  return spec.name.empty() ? spec.argument.text : spec.name;
}

bool is_loss(Var value) {
  return is_floating(value.dtype()) && value.numel() == 1;
}

}  // namespace

std::vector<std::string> result_names(const ExportedProgram& program) {
  std::vector<std::string> names;
  for (const OutputSpec& spec : program.outputs) {
    if (!is_result(spec)) continue;
    names.push_back(spec.name.empty() ? std::to_string(names.size())
                                      : spec.name);
  }
  return names;
}

Var Importer::read(const Argument& argument, Scope& scope) {
  static const ExportedNode none;
  RuleContext context(none, scope, tensors_, anchor_, options_.form);
  return context.read(argument);
}

// Writes of the forward pass, and those that the signature lists.
void Importer::assign_buffers() {
  graph_.set_path("");
  std::map<SlotId, Var> written;
  for (const InputSpec& spec : program_.inputs) {
    if (spec.kind == InputSpec::Kind::kUser) continue;
    auto bound = scope_.names.find(spec.argument.text);
    if (bound == scope_.names.end()) continue;
    const auto* id = std::get_if<TensorId>(&bound->second);
    if (!id || !tensors_.is_written(*id)) continue;
    SlotId slot = slot_by_name_.at(spec.name);
    if (graph_.slot(slot).role == Role::kParameter) {
      fail_usage("the forward pass writes to the parameter '{}'", spec.name);
    }
    written[slot] = tensors_.read(*id);
  }
  for (const OutputSpec& spec : program_.outputs) {
    if (spec.kind != OutputSpec::Kind::kBufferMutation) continue;
    auto slot = slot_by_name_.find(spec.name);
    if (slot == slot_by_name_.end()) continue;
    written[slot->second] = read(spec.argument, scope_);
  }
  std::set<SlotId> changed;
  for (auto [slot, value] : written) changed.insert(slot);
  check_overlaps(changed);
  for (auto [slot, value] : written) {
    Slot& s = graph_.slot(slot);
    if (s.role == Role::kConstant) s.role = Role::kBuffer;
    assign(slot, detach(cast(value, s.dtype)));
  }
}

// Without a name the first that is not the model's own loss.
Var Importer::output_value(const std::string& name) {
  std::vector<std::string> known;
  for (const OutputSpec& spec : program_.outputs) {
    if (!is_result(spec)) continue;
    const std::string& own = name_of(spec);
    bool fits = own == name || std::to_string(known.size()) == name;
    if (fits || name.empty()) {
      Var value = read(spec.argument, scope_);
      if (fits || (spec.name != "loss" && value.rank() > 0)) return value;
    }
    known.push_back(own);
  }
  if (name.empty()) {
    fail_usage(
        "forward gives nothing but a loss of its own\n"
        "HINT: name no other one, or return the scores too");
  }
  fail_usage("there is no output '{}'\nHINT: {}", name, name_hint(name, known));
}

Var Importer::named_loss(const NamedLoss& loss) {
  auto given = options_.inputs.find(loss.target);
  if (given == options_.inputs.end()) {
    fail_usage("the target '{}' of the loss is not among the inputs",
               loss.target);
  }
  Var y = output_value(loss.output);
  // An autoencoder is compared with what it is given.
  ValueId taken = graph_.find_input(loss.target);
  Var target = taken != kNone ? Var{&graph_, taken}
                              : input(graph_, loss.target, given->second);
  return parse_loss(loss.kind)(y, target);
}

// The result called so, else the first that could be one.
Var Importer::own_loss() {
  Var loss;
  for (const OutputSpec& spec : program_.outputs) {
    if (!is_result(spec)) continue;
    Var value = read(spec.argument, scope_);
    if (!is_loss(value)) continue;
    if (spec.name == "loss") return value;
    if (!loss) loss = value;
  }
  return loss;
}

void Importer::add_outputs() {
  graph_.set_path("");
  Var loss = options_.loss ? named_loss(*options_.loss) : own_loss();
  if (!loss && options_.needs_loss) {
    fail_usage(
        "no output is a loss, one float\nHINT: name one, as --loss "
        "cross_entropy --target y; a job has 'loss' and 'target'");
  }
  if (loss) graph_.add_output("loss", reshape(loss, {}).id);
  for (const std::string& name : options_.outputs) {
    graph_.add_output(name, apply("copy", {output_value(name)}).id);
  }
}

}  // namespace braid::io::pt2
