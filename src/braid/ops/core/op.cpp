#include "braid/ops/core/op.h"

#include <algorithm>

#include "braid/base/text.h"
#include "braid/ops/build/functions.h"
#include "braid/ops/core/fusion.h"
#include "braid/ops/core/precision_rows.h"

namespace braid {

int64_t NodeView::dim(size_t i, int64_t d) const {
  int64_t at = normalize_dim(d, rank(i), node_.op->name.c_str());
  if (rank(i) == 0) fail("input {} is a scalar", i);
  return shape(i)[static_cast<size_t>(at)];
}

void NodeView::expect_members(size_t i) const {
  if (members() == 0 || (rank(i) > 0 && dim(i, 0) == members())) return;
  fail("input {} {} does not lead with {} members", i, shape_text(shape(i)),
       members());
}

void NodeView::fail_text(const std::string& text) const {
  std::string where = node_.path.empty() ? "" : " at " + node_.path;
  fail_usage("[{}{}] {}", node_.op->name, where, text);
}

Var VjpContext::grad(size_t i) {
  if (!grads_[i]) grads_[i] = full_like(out(i), out(i).shape(), 0);
  return grads_[i];
}

Var ArrayContext::rows(size_t input) {
  if (!has(input)) return {};
  Var x = leading(input);
  Shape shape(x.shape().begin() + 1, x.shape().end());
  shape.at(0) *= members();
  return reshape(x, shape);
}

void OpTable::begin_family(std::string title) {
  families_.push_back(std::move(title));
}

void OpTable::add(Op op) {
  if (ops_.contains(op.name)) {
    fail_usage("[ops.add] '{}' is already there", op.name);
  }
  if (!families_.empty()) op.family = families_.back();
  if (op.precision == Precision::kFollow) {
    op.precision = precision_of(op.name);
  }
  op.fusible = find_fusion_op(op.name);
  op.index = by_index_.size();
  std::string name = op.name;
  auto at = ops_.emplace(std::move(name), std::move(op)).first;
  by_index_.push_back(&at->second);
}

const Op* OpTable::find(std::string_view name) const {
  auto at = ops_.find(name);
  return at == ops_.end() ? nullptr : &at->second;
}

const Op& OpTable::at(std::string_view name) const {
  if (const Op* op = find(name)) return *op;
  std::vector<std::string> names;
  for (const auto& [known, op] : ops_) names.push_back(known);
  fail_usage("[ops] unknown op '{}'\nHINT: {}", name, name_hint(name, names));
}

const Op& OpTable::own(const Op& op) const {
  bool is_own = op.index < by_index_.size() && by_index_[op.index] == &op;
  return is_own ? op : at(op.name);
}

std::vector<ValueType> OpTable::infer(const Graph& graph,
                                      const Node& node) const {
  const Op& op = own(*node.op);
  NodeView view(graph, node);
  if (node.inputs.size() < op.min_inputs ||
      node.inputs.size() > op.max_inputs) {
    view.fail("takes {} to {} inputs, got {}", op.min_inputs, op.max_inputs,
              node.inputs.size());
  }
  for (size_t i = 0; i < op.min_inputs; ++i) {
    if (!view.has(i)) view.fail("input {} is missing", i);
  }
  try {
    if (view.members() < 0) view.fail("{} members", view.members());
    std::vector<ValueType> types = op.shape(view);
    for (const ValueType& type : types) num_elements(type.shape);
    return types;
  } catch (const std::logic_error& error) {
    // Attributes and shapes do not know whose they are.
    if (parts_of(error).where.starts_with(op.name)) throw;
    view.fail("{}", error.what());
  }
}

Cost OpTable::cost(const Graph& graph, const Node& node) const {
  const Op& op = *node.op;
  if (op.view) return {};
  NodeView view(graph, node);
  Cost cost;
  auto add_bytes = [&](ValueId id) {
    const ValueType& type = graph.value(id).type;
    cost.bytes +=
        static_cast<double>(num_elements(type.shape) * item_bytes(type.dtype));
  };
  for (ValueId id : node.inputs) {
    if (id != kNone) add_bytes(id);
  }
  for (ValueId id : node.outputs) {
    add_bytes(id);
    cost.flops += static_cast<double>(num_elements(graph.value(id).type.shape));
  }
  if (op.cost) cost.flops = op.cost(view).flops;
  return cost;
}

}  // namespace braid
