#include "braid/graph/graph.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "braid/base/error.h"
#include "braid/base/rng.h"

namespace braid {

std::string_view phase_name(Phase phase) {
  switch (phase) {
    case Phase::kForward: return "forward";
    case Phase::kBackward: return "backward";
    case Phase::kUpdate: return "update";
  }
  return "";
}

std::string join_path(std::string_view parent, std::string_view child) {
  if (parent.empty()) return std::string(child);
  if (child.empty()) return std::string(parent);
  return fmt::format("{}.{}", parent, child);
}

Users::Users(const Graph& graph) : begins_(graph.values().size() + 1) {
  size_t num_values = graph.values().size();
  std::vector<NodeId> latest(num_values, kNone);
  auto visit = [&](auto&& use) {
    latest.assign(num_values, kNone);
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
      auto id = static_cast<NodeId>(i);
      for (ValueId input : graph.nodes()[i].inputs) {
        if (input == kNone) continue;
        auto value = static_cast<size_t>(input);
        if (std::exchange(latest[value], id) != id) use(value, id);
      }
    }
  };
  visit([&](size_t value, NodeId) { ++begins_[value + 1]; });
  std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
  nodes_.resize(begins_.back());
  std::vector<size_t> next = begins_;
  visit([&](size_t value, NodeId id) { nodes_[next[value]++] = id; });
}

NodeId Graph::add(const Op& op, std::vector<ValueId> inputs, Attrs attrs,
                  SlotId slot) {
  Node node;
  node.op = &rules_->own(op);
  node.inputs = std::move(inputs);
  node.attrs = std::move(attrs);
  node.path = path_;
  node.phase = phase_;
  node.segment = segment_;
  node.slot = slot;
  if (node.op->random) node.rng_key = next_rng_key();
  return append(std::move(node));
}

NodeId Graph::add_like(const Node& like, std::vector<ValueId> inputs) {
  Node node = like;
  node.op = &rules_->own(*like.op);
  node.inputs = std::move(inputs);
  node.outputs.clear();
  // A later draw at the same path must not get the key of this one.
  if (node.op->random) ++draws_[node.path];
  return append(std::move(node));
}

NodeId Graph::append(Node node) {
  for (ValueId input : node.inputs) {
    if (input < kNone || input >= static_cast<ValueId>(values_.size())) {
      fail_usage("[graph.add] {} reads a value that does not exist",
                 node.op->name);
    }
  }
  std::vector<ValueType> types = rules_->infer(*this, node);
  auto id = static_cast<NodeId>(nodes_.size());
  for (ValueType& type : types) {
    node.outputs.push_back(static_cast<ValueId>(values_.size()));
    Strides strides = contiguous_strides(type.shape);
    values_.push_back({std::move(type), std::move(strides), 0, id, ""});
  }
  nodes_.push_back(std::move(node));
  return id;
}

ValueId Graph::add_input(std::string name, ValueType type) {
  if (find_input(name) != kNone) {
    fail_usage("[graph.add_input] there is already an input '{}'", name);
  }
  auto id = static_cast<ValueId>(values_.size());
  Strides strides = contiguous_strides(type.shape);
  values_.push_back(
      {std::move(type), std::move(strides), 0, kNone, std::move(name)});
  inputs_.push_back(id);
  return id;
}

SlotId Graph::add_slot(Slot slot) {
  if (find_slot(slot.name) != kNone) {
    fail_usage("[graph.add_slot] there is already a slot '{}'", slot.name);
  }
  auto id = static_cast<SlotId>(slots_.size());
  slot_ids_.add(slot.name, id);
  slots_.push_back(std::move(slot));
  return id;
}

void Graph::add_output(std::string name, ValueId value) {
  if (find_output(name) != kNone) {
    fail_usage("[graph.add_output] there is already an output '{}'", name);
  }
  outputs_.push_back({std::move(name), value});
}

ValueId Graph::find_input(std::string_view name) const {
  for (ValueId id : inputs_) {
    if (value(id).name == name) return id;
  }
  return kNone;
}

SlotId Graph::find_slot(std::string_view name) const {
  return slot_ids_.find(name);
}

ValueId Graph::find_output(std::string_view name) const {
  for (const Output& output : outputs_) {
    if (output.name == name) return output.value;
  }
  return kNone;
}

void Graph::continue_at(const Node& node) {
  path_ = node.path;
  phase_ = node.phase;
  segment_ = node.segment;
}

void Graph::keep_nodes(const std::vector<bool>& keep) {
  std::vector<Node> kept;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (keep[i]) {
      kept.push_back(std::move(nodes_[i]));
    } else {
      for (ValueId v : nodes_[i].outputs) value(v).producer = kNone;
    }
  }
  nodes_ = std::move(kept);
  renumber();
}

void Graph::reorder(const std::vector<NodeId>& order) {
  std::vector<Node> ordered;
  ordered.reserve(nodes_.size());
  for (NodeId id : order) ordered.push_back(std::move(nodes_[index(id)]));
  nodes_ = std::move(ordered);
  renumber();
}

void Graph::renumber() {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    for (ValueId v : nodes_[i].outputs) {
      value(v).producer = static_cast<NodeId>(i);
    }
  }
}

uint64_t Graph::next_rng_key() {
  int ordinal = draws_[path_]++;
  return stable_hash(fmt::format("{}#{}", path_, ordinal));
}

}  // namespace braid
