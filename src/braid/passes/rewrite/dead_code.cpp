#include "braid/passes/rewrite/dead_code.h"

#include <algorithm>

namespace braid::passes {

void remove_dead_code(const OpTable&, Graph& graph,
                      const std::vector<ValueId>& wanted) {
  std::vector<bool> used(graph.values().size(), false);
  std::vector<bool> keep(graph.nodes().size(), false);
  auto is_used = [&](ValueId id) { return used[static_cast<size_t>(id)]; };
  for (const Output& output : graph.outputs()) {
    used[static_cast<size_t>(output.value)] = true;
  }
  for (ValueId id : wanted) used[static_cast<size_t>(id)] = true;
  for (size_t i = graph.nodes().size(); i-- > 0;) {
    const Node& node = graph.nodes()[i];
    keep[i] = node.op->writes_slot ||
              std::any_of(node.outputs.begin(), node.outputs.end(), is_used);
    if (!keep[i]) continue;
    for (ValueId input : node.inputs) {
      if (input != kNone) used[static_cast<size_t>(input)] = true;
    }
  }
  graph.keep_nodes(keep);
}

}  // namespace braid::passes
