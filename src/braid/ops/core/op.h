// What the rules of an operator (graph/op.h) are written with, and the table
// of all operators.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "braid/base/error.h"
#include "braid/graph/var.h"

namespace braid {

// What a node looks like to a rule that only reads it.
class NodeView {
 public:
  NodeView(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  const Node& node() const { return node_; }
  const Graph& graph() const { return graph_; }
  const Attrs& attrs() const { return node_.attrs; }
  size_t count() const { return node_.inputs.size(); }
  bool has(size_t i) const { return i < count() && node_.inputs[i] != kNone; }
  const Value& value(size_t i) const { return graph_.value(node_.inputs[i]); }
  const ValueType& type(size_t i) const { return value(i).type; }
  const Shape& shape(size_t i) const { return type(i).shape; }
  DType dtype(size_t i) const { return type(i).dtype; }
  int64_t rank(size_t i) const { return static_cast<int64_t>(shape(i).size()); }
  int64_t dim(size_t i, int64_t d) const;  // negative counts from the end
  const Value& output(size_t i) const { return graph_.value(node_.outputs[i]); }
  // B when the op treats a leading axis of B members apart, else 0.
  int64_t members() const { return attrs().integer_or("members", 0); }
  // In an array, throws unless input i leads with an axis of B.
  void expect_members(size_t i) const;

  // Throws std::invalid_argument naming the op, the layer and the problem.
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> text,
                         Args&&... args) const {
    fail_text(fmt::format(text, std::forward<Args>(args)...));
  }

 private:
  [[noreturn]] void fail_text(const std::string& text) const;
  const Graph& graph_;
  const Node& node_;
};

// Builds the backward nodes of one forward node.
class VjpContext {
 public:
  VjpContext(Graph& graph, NodeId node, std::vector<Var> grads,
             std::vector<bool> needs)
      : graph_(graph),
        node_(graph.node(node)),
        grads_(std::move(grads)),
        needs_(std::move(needs)),
        given_(node_.inputs.size()) {}

  const Attrs& attrs() const { return node_.attrs; }
  const Node& node() const { return node_; }
  Graph& graph() { return graph_; }
  bool has(size_t i) const {
    return i < node_.inputs.size() && node_.inputs[i] != kNone;
  }
  Var in(size_t i) { return has(i) ? Var{&graph_, node_.inputs[i]} : Var{}; }
  Var out(size_t i) { return {&graph_, node_.outputs[i]}; }
  // Gradient of an output; zeros when nothing depends on it.
  Var grad(size_t i);
  bool has_grad(size_t i) const { return static_cast<bool>(grads_[i]); }
  bool needs(size_t i) const { return i < needs_.size() && needs_[i]; }
  // States the gradient of an input; its type must be the input's.
  void give(size_t i, Var gradient) { given_[i] = gradient; }
  const std::vector<Var>& given() const { return given_; }

 private:
  Graph& graph_;
  Node node_;  // a copy: the graph grows while rules run
  std::vector<Var> grads_;
  std::vector<bool> needs_;
  std::vector<Var> given_;
};

// Where the members of an array lie in a value.
enum class MemberAxis {
  kShared,   // one value for all members
  kLeading,  // [B, ...]
  kMerged,   // [N, B * C, ...], channels of a member side by side
};

// How a convolution of B members is computed.
enum class Lowering {
  kGrouped,      // members are groups of [N, B * C, S]
  kGroupedLast,  // the same with the channels last in memory
  kMember,       // one call that goes through the members of [B, N, C, S]
  kGemm,         // kernels of one element: products of [B, N, C, S]
};

// Builds the nodes that do for B members what one node does for one.
class ArrayContext {
 public:
  virtual ~ArrayContext() = default;
  virtual int64_t members() const = 0;
  virtual Graph& graph() = 0;
  // The node of one member, with its shapes.
  virtual NodeView one() const = 0;
  // Of a convolution: how to compute it.
  virtual Lowering lowering() const { return Lowering::kGrouped; }
  virtual MemberAxis member_axis(size_t input) const = 0;
  virtual Var in(size_t input) = 0;       // as it lies
  virtual Var leading(size_t input) = 0;  // brought to [B, ...]
  virtual Var merged(size_t input) = 0;   // brought to [N, B * C, ...]
  virtual void emit(size_t output, Var value, MemberAxis axis) = 0;

  bool has(size_t input) const { return one().has(input); }
  const Attrs& attrs() const { return one().attrs(); }
  bool shared(size_t i) const { return member_axis(i) == MemberAxis::kShared; }
  // [B, C, ...] as [B * C, ...]: parameters of a merged op. Empty if missing.
  Var rows(size_t input);
};

// All operators by name. Passes take it by reference; there is no registry.
// Graphs point to its ops, which stay where they are when it is moved.
class OpTable : public TypeRules {
 public:
  OpTable() = default;
  OpTable(OpTable&&) = default;
  OpTable& operator=(OpTable&&) = default;

  // Ops that follow belong to a family, in the words of the documentation.
  void begin_family(std::string title);
  const std::vector<std::string>& families() const { return families_; }
  void add(Op op);
  const Op* find(std::string_view name) const override;
  // Throws and names the nearest known op when there is none.
  const Op& at(std::string_view name) const override;
  const Op& own(const Op& op) const override;
  const std::map<std::string, Op, std::less<>>& all() const { return ops_; }

  std::vector<ValueType> infer(const Graph& graph,
                               const Node& node) const override;
  Cost cost(const Graph& graph, const Node& node) const;

 private:
  std::map<std::string, Op, std::less<>> ops_;
  std::vector<const Op*> by_index_;
  std::vector<std::string> families_;
};

// Every operator that Braid knows.
OpTable standard_ops();

}  // namespace braid
