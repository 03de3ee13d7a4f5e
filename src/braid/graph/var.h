// Var: a value together with its graph, the handle that builders, vjp rules
// and array rules are written with. Free functions on Vars
// (ops/build/functions.h) append nodes: `x = relu(linear(x, w, b))`.
#pragma once

#include <initializer_list>
#include <vector>

#include "braid/graph/graph.h"

namespace braid {

struct Var {
  Graph* graph = nullptr;
  ValueId id = kNone;

  explicit operator bool() const { return id != kNone; }
  const ValueType& type() const { return graph->value(id).type; }
  const Shape& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
  int64_t rank() const { return static_cast<int64_t>(shape().size()); }
  // Size of a dimension; negative counts from the end.
  int64_t dim(int64_t index) const;
  int64_t numel() const { return num_elements(shape()); }
};

// Appends a node; all its outputs. Missing optional inputs are empty Vars; at
// least one input must be there.
std::vector<Var> apply_all(std::string_view op, const std::vector<Var>& inputs,
                           Attrs attrs = {});
std::vector<Var> apply_all(const Op& op, const std::vector<Var>& inputs,
                           Attrs attrs = {});

// The same for ops with one interesting output.
Var apply(std::string_view op, const std::vector<Var>& inputs,
          Attrs attrs = {});
Var apply(const Op& op, const std::vector<Var>& inputs, Attrs attrs = {});

// An input of the step, and a slot's present content.
Var input(Graph& graph, std::string name, ValueType type);
Var read(Graph& graph, SlotId slot);

// The value becomes the slot's content at this point of the step.
void assign(SlotId slot, Var value);

}  // namespace braid
