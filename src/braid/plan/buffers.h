// Buffers: alias classes of values. A buffer has bytes and a lifetime; views
// share the buffer of what they look at, and an op may write its output over
// an input that nobody reads any more.
#pragma once

#include <vector>

#include "braid/ops/core/op.h"

namespace braid::plan {

using BufferId = int32_t;

struct Buffer {
  int64_t bytes = 0;
  SlotId slot = kNone;          // its memory is the slot's
  bool is_input = false;        // written before the step
  bool is_output = false;       // read after it
  std::vector<NodeId> writers;  // in order; more than one after in-place
  std::vector<NodeId> users;    // nodes that read or write it, in order
};

struct Buffers {
  std::vector<Buffer> all;
  std::vector<BufferId> of_value;  // kNone for values that nobody makes

  BufferId of(ValueId value) const {
    return of_value[static_cast<size_t>(value)];
  }
  const Buffer& at(BufferId id) const { return all[static_cast<size_t>(id)]; }
};

// Whether an `assign` has nothing to do: its value was made in the slot.
bool is_assigned_in_place(const Graph& graph, const Buffers& buffers,
                          const Node& node);

Buffers find_buffers(const OpTable& ops, const Graph& graph);

}  // namespace braid::plan
