// A graph of a single node, for tests of op rules.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "braid/ops/core/op.h"
#include "op_table.h"
#include "thrown.h"

namespace braid {

// Types of a node's inputs; nothing where an optional input is missing.
using InputTypes = std::vector<std::optional<ValueType>>;

inline ValueType f32(Shape shape) { return {DType::kFloat32, shape}; }
inline ValueType f64(Shape shape) { return {DType::kFloat64, shape}; }
inline ValueType i64(Shape shape) { return {DType::kInt64, shape}; }

// One node over inputs of the given types.
inline Graph one_node(const std::string& op, const InputTypes& types,
                      const Attrs& attrs = {}) {
  Graph graph(table());
  std::vector<ValueId> inputs;
  for (const auto& type : types) {
    std::string name = fmt::format("in{}", inputs.size());
    inputs.push_back(type ? graph.add_input(name, *type) : kNone);
  }
  graph.add(op, inputs, attrs);
  return graph;
}

// Types of the node's outputs as text: "f32[2, 3] i64[2, 3]".
inline std::string outputs_of(const std::string& op, const InputTypes& types,
                              const Attrs& attrs = {}) {
  Graph graph = one_node(op, types, attrs);
  std::string text;
  for (ValueId id : graph.node(0).outputs) {
    const ValueType& type = graph.value(id).type;
    if (!text.empty()) text += " ";
    text += std::string(dtype_name(type.dtype)) + shape_text(type.shape);
  }
  return text;
}

// The message of std::invalid_argument, or nothing when the node is taken.
inline std::string problem_of(const std::string& op, const InputTypes& types,
                              const Attrs& attrs = {}) {
  return thrown_by([&] { one_node(op, types, attrs); });
}

}  // namespace braid
