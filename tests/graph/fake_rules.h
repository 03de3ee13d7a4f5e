// A handful of ops for tests of the graph layer.
#pragma once

#include <string>
#include <vector>

#include "braid/base/error.h"
#include "braid/graph/graph.h"

namespace braid {

// A slot of which only name and shape matter.
inline Slot plain_slot(std::string name, Shape shape) {
  Slot slot;
  slot.name = std::move(name);
  slot.shape = std::move(shape);
  return slot;
}

class FakeRules : public TypeRules {
 public:
  const Op* find(std::string_view name) const override {
    for (const Op& op : ops_) {
      if (op.name == name) return &op;
    }
    return nullptr;
  }

  const Op& at(std::string_view name) const override {
    if (const Op* op = find(name)) return *op;
    fail_usage("[ops] there is no op '{}'", name);
  }

  std::vector<ValueType> infer(const Graph& graph,
                               const Node& node) const override {
    if (node.op->name == "read") return {stored_type(graph, node)};
    if (node.op->name == "assign" || node.op->name == "accumulate") {
      if (type(graph, node, 0) != stored_type(graph, node)) {
        fail_usage("[{}] the value does not fit the slot", node.op->name);
      }
      return {};
    }
    if (node.op->name == "relu" || node.op->name == "dropout") {
      return {type(graph, node, 0)};
    }
    if (node.op->name == "add") return {add(graph, node)};
    if (node.op->name == "linear") return {linear(graph, node)};
    if (node.op->name == "transpose") return {transpose(graph, node)};
    if (node.op->name == "zeros")
      return {{DType::kFloat32, node.attrs.ints("shape")}};
    if (node.op->name == "max") return max(graph, node);
    if (node.op->name == "print" || node.op->name == "output") return {};
    fail_usage("[ops] there is no op '{}'", node.op->name);
  }

 private:
  static const ValueType& type(const Graph& graph, const Node& node,
                               size_t index) {
    if (index >= node.inputs.size() || node.inputs[index] == kNone) {
      fail_usage("[{}] input {} is missing", node.op->name, index);
    }
    return graph.value(node.inputs[index]).type;
  }

  static ValueType stored_type(const Graph& graph, const Node& node) {
    const Slot& slot = graph.slot(node.slot);
    return {slot.dtype, slot.stored_shape()};
  }

  static ValueType add(const Graph& graph, const Node& node) {
    if (type(graph, node, 0) != type(graph, node, 1)) {
      fail_usage("[add] inputs of different types");
    }
    return type(graph, node, 0);
  }

  // y[N, O] = x[N, I] * w[O, I]^T + b[O]; b may be missing.
  static ValueType linear(const Graph& graph, const Node& node) {
    const ValueType& x = type(graph, node, 0);
    const ValueType& w = type(graph, node, 1);
    if (x.shape.size() != 2 || w.shape.size() != 2 || node.inputs.size() != 3 ||
        x.shape[1] != w.shape[1]) {
      fail_usage("[linear] shapes do not fit");
    }
    return {x.dtype, {x.shape[0], w.shape[0]}};
  }

  static ValueType transpose(const Graph& graph, const Node& node) {
    ValueType out = type(graph, node, 0);
    if (out.shape.size() != 2) fail_usage("[transpose] needs rank 2");
    std::swap(out.shape[0], out.shape[1]);
    return out;
  }

  // Largest of each row and its place.
  static std::vector<ValueType> max(const Graph& graph, const Node& node) {
    const ValueType& x = type(graph, node, 0);
    if (x.shape.empty()) fail_usage("[max] needs a dimension");
    Shape rows(x.shape.begin(), x.shape.end() - 1);
    return {{x.dtype, rows}, {DType::kInt64, rows}};
  }

  std::vector<Op> ops_ = {
      {.name = "read", .kind = OpKind::kRead},
      {.name = "assign", .kind = OpKind::kAssign, .writes_slot = true},
      {.name = "accumulate", .kind = OpKind::kAccumulate, .writes_slot = true},
      {.name = "relu", .kind = OpKind::kRelu},
      {.name = "dropout", .kind = OpKind::kDropout, .random = true},
      {.name = "add"},
      {.name = "linear"},
      {.name = "transpose"},
      {.name = "zeros"},
      {.name = "max"},
      {.name = "print"},
      {.name = "output"}};
};

}  // namespace braid
