// Graphs written as text, and questions about graphs, for tests of passes.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "braid/graph/text.h"
#include "braid/graph/verify.h"
#include "braid/ops/core/op.h"
#include "op_table.h"

namespace braid::passes {

// The graph of statements without the first line. A statement that ends with
// a backslash goes on in the next line.
inline Graph graph_of(std::string statements) {
  for (size_t at; (at = statements.find("\\\n")) != std::string::npos;) {
    statements.erase(at, 2);
  }
  return parse_graph("braid-graph 1\n" + statements, table());
}

inline std::vector<std::string> op_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) names.push_back(node.op->name);
  return names;
}

inline int64_t count_op(const Graph& graph, const std::string& op) {
  auto is_op = [&](const Node& node) { return node.op->name == op; };
  return std::count_if(graph.nodes().begin(), graph.nodes().end(), is_op);
}

// The n-th node of an op.
inline const Node& node_of(const Graph& graph, const std::string& op,
                           int n = 0) {
  for (const Node& node : graph.nodes()) {
    if (node.op->name == op && n-- == 0) return node;
  }
  fail_usage("there is no {}", op);
}

inline NodeId id_of(const Graph& graph, const Node& node) {
  return static_cast<NodeId>(&node - graph.nodes().data());
}

inline const Slot& slot_of(const Graph& graph, const std::string& name) {
  SlotId id = graph.find_slot(name);
  if (id == kNone) fail_usage("there is no slot {}", name);
  return graph.slot(id);
}

inline const ValueType& type_of_output(const Graph& graph,
                                       const std::string& name) {
  return graph.value(graph.find_output(name)).type;
}

}  // namespace braid::passes
