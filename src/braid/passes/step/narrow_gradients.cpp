#include "braid/passes/step/narrow_gradients.h"

#include <algorithm>

#include "braid/passes/rewrite/dead_code.h"

namespace braid::passes {
namespace {

// What is cast to a gradient that an update alone reads and could read as it
// is, but for its order in memory; kNone when there is none.
ValueId narrow_source(const Graph& graph, const Users& users,
                      ValueId gradient) {
  NodeId maker = graph.value(gradient).producer;
  if (maker == kNone || users.of(gradient).size() != 1) return kNone;
  const Node& reader = graph.node(users.of(gradient)[0]);
  const Node& cast = graph.node(maker);
  if (!reader.op->update_kind || reader.inputs[1] != gradient ||
      !cast.is(OpKind::kCast)) {
    return kNone;
  }
  const Value& source = graph.value(cast.inputs[0]);
  bool fits = source.type.dtype == DType::kBFloat16 &&
              graph.value(gradient).type.dtype == DType::kFloat32 &&
              source.offset == 0;
  return fits ? cast.inputs[0] : kNone;
}

bool is_output(const Graph& graph, ValueId value) {
  return std::ranges::any_of(graph.outputs(), [&](const Output& output) {
    return output.value == value;
  });
}

}  // namespace

StepGraph narrow_gradients(const OpTable& ops, StepGraph step) {
  Graph& graph = step.graph;
  Users users(graph);
  for (auto& [parameter, gradient] : step.gradients) {
    if (is_output(graph, gradient)) continue;
    ValueId narrow = narrow_source(graph, users, gradient);
    if (narrow == kNone) continue;
    const Value& source = graph.value(narrow);
    if (!is_contiguous(source.type.shape, source.strides)) {
      // Put into rows, where it was cast.
      Node& cast = graph.node(graph.value(gradient).producer);
      cast.op = &ops.at("copy");
      cast.attrs = {};
      graph.value(gradient).type = source.type;
      continue;
    }
    graph.node(users.of(gradient)[0]).inputs[1] = narrow;
    gradient = narrow;
  }
  std::vector<ValueId> wanted;
  for (auto [parameter, gradient] : step.gradients) wanted.push_back(gradient);
  remove_dead_code(ops, graph, wanted);
  return step;
}

}  // namespace braid::passes
