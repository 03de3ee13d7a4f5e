// GraphCopy: a graph made anew from another, node by node, where a pass
// changes some of them on the way.
#pragma once

#include <vector>

#include "braid/graph/graph.h"

namespace braid {

class GraphCopy {
 public:
  // Borrows the graph that is copied. Nothing is copied yet.
  explicit GraphCopy(const Graph& from)
      : to(from.rules()), from_(from), values_(from.values().size(), kNone) {}

  Graph to;

  // What stands for a value of the old graph; kNone until it is there.
  ValueId& value(ValueId id) { return values_[static_cast<size_t>(id)]; }
  // The same for all inputs of a node.
  std::vector<ValueId> inputs_of(const Node& node);

  void add_slots();  // all of them, under their ids
  void add_inputs();
  void add_input(ValueId id);
  // A copy of the node, with its outputs.
  void add(const Node& node) { add(node, inputs_of(node)); }
  void add(const Node& node, std::vector<ValueId> inputs);
  void add_outputs();

 private:
  const Graph& from_;
  std::vector<ValueId> values_;
};

}  // namespace braid
