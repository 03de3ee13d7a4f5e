// Tensors of an imported graph while it is read: values with the aliases that
// PyTorch gives them. A graph of Braid has no writes; here a write to a view
// becomes a new value of its base, and every other view of that base is made
// anew when it is read next.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "braid/graph/var.h"

namespace braid::io::pt2 {

using TensorId = int32_t;

// How a view comes from its base, and how a written view becomes part of it.
// A view without `put` cannot be written.
struct ViewStep {
  std::function<Var(Var base)> take;
  std::function<Var(Var base, Var view)> put = {};
};

class Tensors {
 public:
  // A tensor with memory of its own.
  TensorId add(Var value);
  // The tensor of a slot: the same one whatever name it is asked by. It is read
  // where it is asked for first, so that layer owns it.
  TensorId add_slot(Graph& graph, SlotId slot);
  // A view of another tensor, with the value that it has now.
  TensorId add_view(TensorId of, ViewStep step);

  // The present value.
  Var read(TensorId id);

  // The tensor's content becomes `value`, which has its type.
  void write(TensorId id, Var value);

  // Whether the memory of this tensor was written since it was added.
  bool is_written(TensorId id) const;

 private:
  struct Entry {
    TensorId parent;
    ViewStep step;  // of a view
    Var value;      // as of `version` of the base
    int64_t version = 0;
  };
  Entry& entry(TensorId id) { return entries_[static_cast<size_t>(id)]; }
  TensorId base_of(TensorId id) const;
  int64_t base_version(TensorId id) const;

  std::vector<Entry> entries_;
  std::map<SlotId, TensorId> slots_;
};

}  // namespace braid::io::pt2
