// The Graph: a straight list of nodes over values (SSA) and slots.
//
// Values live inside a step, Slots outlive it. A node reads values and writes
// values; `read` makes a slot a value, and only `assign` and `accumulate`
// write slots. Every technique of Braid is a function from Graph to Graph.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "braid/base/dtype.h"
#include "braid/base/name_index.h"
#include "braid/base/shape.h"
#include "braid/graph/attrs.h"
#include "braid/graph/op.h"
#include "braid/graph/slot.h"

namespace braid {

using ValueId = int32_t;
using NodeId = int32_t;
using SlotId = int32_t;
inline constexpr int32_t kNone = -1;

struct Value {
  ValueType type;
  Strides strides;     // in elements; row-major until the layout pass
  int64_t offset = 0;  // in elements, from the start of the buffer
  NodeId producer = kNone;
  std::string name;  // inputs and named results only
};

// Which part of the step a node belongs to.
enum class Phase { kForward, kBackward, kUpdate };

std::string_view phase_name(Phase phase);

struct Node {
  const Op* op = nullptr;       // of the table that its graph borrows
  std::vector<ValueId> inputs;  // kNone where an optional input is missing
  std::vector<ValueId> outputs;
  Attrs attrs;
  std::string path;  // layer path, such as "blocks.0.fc1"
  Phase phase = Phase::kForward;
  SlotId slot = kNone;   // of read, assign, accumulate
  uint64_t rng_key = 0;  // of random ops: which draw this is
  int32_t segment = 0;   // unit of planning, see passes/rewrite/segments.h

  bool is(OpKind kind) const { return op->is(kind); }
};

struct Output {
  std::string name;
  ValueId value = kNone;
};

class Graph;

// Which ops there are and what they yield. The op table implements this;
// graphs borrow it.
class TypeRules {
 public:
  virtual ~TypeRules() = default;
  // The op of that name; null, or an error, when there is none.
  virtual const Op* find(std::string_view name) const = 0;
  virtual const Op& at(std::string_view name) const = 0;
  // What an op that may be of another table is here.
  virtual const Op& own(const Op& op) const { return at(op.name); }
  // Types of the node's outputs; throws when inputs or attributes are wrong.
  virtual std::vector<ValueType> infer(const Graph& graph,
                                       const Node& node) const = 0;
};

// Which nodes read each value, in one flat list. Of a graph as it was when
// they were found.
class Users {
 public:
  explicit Users(const Graph& graph);

  // In order; a node that reads a value twice is there once.
  std::span<const NodeId> of(ValueId value) const {
    auto at = static_cast<size_t>(value);
    return std::span(nodes_).subspan(begins_[at],
                                     begins_[at + 1] - begins_[at]);
  }

 private:
  std::vector<size_t> begins_;  // by value, in nodes_; then the end
  std::vector<NodeId> nodes_;
};

class Graph {
 public:
  explicit Graph(const TypeRules& rules) : rules_(&rules) {}

  // Appends a node; makes its output values by the rules. Path and phase are
  // the present ones. Returns the id.
  NodeId add(std::string_view op, std::vector<ValueId> inputs, Attrs attrs = {},
             SlotId slot = kNone) {
    return add(rules_->at(op), std::move(inputs), std::move(attrs), slot);
  }
  NodeId add(const Op& op, std::vector<ValueId> inputs, Attrs attrs = {},
             SlotId slot = kNone);

  // Appends a copy of a node with other inputs, keeping path, phase, slot and
  // rng_key. The node may be of a graph with another table.
  NodeId add_like(const Node& node, std::vector<ValueId> inputs);

  // A tensor given anew at every step.
  ValueId add_input(std::string name, ValueType type);
  SlotId add_slot(Slot slot);
  void add_output(std::string name, ValueId value);

  const Node& node(NodeId id) const { return nodes_[index(id)]; }
  Node& node(NodeId id) { return nodes_[index(id)]; }
  const Value& value(ValueId id) const { return values_[index(id)]; }
  Value& value(ValueId id) { return values_[index(id)]; }
  const Slot& slot(SlotId id) const { return slots_[index(id)]; }
  Slot& slot(SlotId id) { return slots_[index(id)]; }  // keeps its name

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Value>& values() const { return values_; }
  const std::vector<Slot>& slots() const { return slots_; }
  const std::vector<ValueId>& inputs() const { return inputs_; }
  const std::vector<Output>& outputs() const { return outputs_; }
  std::vector<Output>& outputs() { return outputs_; }
  const TypeRules& rules() const { return *rules_; }

  // kNone when there is none.
  ValueId find_input(std::string_view name) const;
  SlotId find_slot(std::string_view name) const;
  ValueId find_output(std::string_view name) const;

  // Who reads what, found anew at every call.
  Users users() const { return Users(*this); }

  // Layer path of the nodes that follow.
  const std::string& path() const { return path_; }
  void set_path(std::string path) { path_ = std::move(path); }
  void set_phase(Phase phase) { phase_ = phase; }
  void set_segment(int32_t segment) { segment_ = segment; }

  // Path, phase and segment of the nodes that follow are those of `node`.
  void continue_at(const Node& node);

  // Drops nodes for which keep[id] is false. Values keep their ids.
  void keep_nodes(const std::vector<bool>& keep);

  // Puts nodes into the given order (a permutation of all ids).
  void reorder(const std::vector<NodeId>& order);

 private:
  static size_t index(int32_t id) { return static_cast<size_t>(id); }
  NodeId append(Node node);
  void renumber();
  uint64_t next_rng_key();

  const TypeRules* rules_;
  std::vector<Node> nodes_;
  std::vector<Value> values_;
  std::vector<Slot> slots_;
  NameIndex slot_ids_;
  std::vector<ValueId> inputs_;
  std::vector<Output> outputs_;
  std::map<std::string, int> draws_;  // random nodes so far, by path
  std::string path_;
  Phase phase_ = Phase::kForward;
  int32_t segment_ = 0;
};

// "parent.child", or "child" when there is no parent.
std::string join_path(std::string_view parent, std::string_view child);

// Sets the layer path of a graph for a scope, below the present one.
class PathScope {
 public:
  PathScope(Graph& graph, std::string_view name)
      : graph_(graph), before_(graph.path()) {
    graph.set_path(join_path(before_, name));
  }
  ~PathScope() { graph_.set_path(before_); }
  PathScope(const PathScope&) = delete;
  PathScope& operator=(const PathScope&) = delete;

 private:
  Graph& graph_;
  std::string before_;
};

}  // namespace braid
