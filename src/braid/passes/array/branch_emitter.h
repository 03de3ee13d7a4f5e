// Branches of an array: nodes of single members that run beside the array's,
// and values that go between the two. For passes/array/partial.h
// alone.
#pragma once

#include "braid/passes/array/array.h"

namespace braid::passes {

// What an emitter of branches sees of the array that is being built. Value ids
// are those of the one model that the members have in common.
class ArrayDraft {
 public:
  virtual ~ArrayDraft() = default;
  virtual Graph& graph() = 0;
  // The value when it is one for all members, else nothing.
  virtual Var shared(ValueId id) const = 0;
  virtual Var leading(ValueId id) = 0;  // [B, ...]
  // What stands for an input that the branches make, [B, ...].
  virtual void place(ValueId id, Var leading) = 0;
};

class BranchEmitter {
 public:
  virtual ~BranchEmitter() = default;
  // Whether the branches place this input, before the first node that reads it.
  virtual bool makes(ValueId input) const = 0;
  // Called before node `index` is added, and with their number at the end,
  // before the outputs are.
  virtual void before(ArrayDraft& array, size_t index) = 0;
};

// As array(), with branches.
Graph array_with_branches(const OpTable& ops, const Graph& one,
                          const ArrayPassOptions& options,
                          BranchEmitter& branches);

}  // namespace braid::passes
