// Splicer: puts whole graphs into one, as layers with slots of their own. A
// graph that is put in twice under one name uses the same slots both times,
// and its second use sees what the first one assigned.
#pragma once

#include <map>
#include <string>

#include "braid/graph/graph.h"

namespace braid {

class Splicer {
 public:
  // Borrows the graph.
  explicit Splicer(Graph& into) : into_(into) {}

  // Appends the nodes of `from`, whose slots get the name as a prefix:
  // "generator.main.0.weight". Inputs that are not bound become inputs of the
  // whole. Random ops draw other numbers under every name and in every use.
  // Returns its outputs by name. Throws when an input, or a slot of an earlier
  // use, is of another type.
  std::map<std::string, ValueId> add(
      const Graph& from, const std::string& name,
      const std::map<std::string, ValueId>& inputs);

  // Writes the slots that were assigned. To be called once, at the end.
  void finish();

 private:
  // A graph that is being put in.
  struct Piece {
    const Graph& from;
    const std::string& name;
    uint64_t draws;               // what its random keys are mixed with
    std::vector<SlotId> slots;    // by slot of `from`
    std::vector<ValueId> values;  // by value of `from`

    ValueId& at(ValueId id) { return values[static_cast<size_t>(id)]; }
  };
  SlotId slot_of(const Slot& slot, const std::string& name);
  void bind_inputs(Piece& piece, const std::map<std::string, ValueId>& inputs);
  void add_node(Piece& piece, Node node);

  Graph& into_;
  std::map<std::string, int> uses_;     // by name
  std::map<SlotId, ValueId> assigned_;  // latest content
  std::map<SlotId, Node> writers_;      // the node that assigned it
};

}  // namespace braid
