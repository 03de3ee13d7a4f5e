#include "braid/passes/array/array.h"

#include <algorithm>
#include <numeric>

#include "braid/ops/build/functions.h"
#include "braid/passes/array/array_lowering.h"
#include "braid/passes/array/branch_emitter.h"
#include "braid/passes/names.h"

namespace braid::passes {
namespace {

struct Placed {
  Var value;
  MemberAxis axis = MemberAxis::kShared;
};

// Walks the nodes of one model and keeps, for each of its values, the value
// of the array and where the members lie in it.
class ArrayBuilder : public ArrayDraft {
  template <class List>
  static auto& at(List& list, ValueId id) {
    return list[static_cast<size_t>(id)];
  }

 public:
  ArrayBuilder(const OpTable& ops, const Graph& one,
               const ArrayPassOptions& options,
               const std::vector<Lowering>& lowerings, BranchEmitter* branches)
      : one_(one),
        options_(options),
        lowerings_(lowerings),
        branches_(branches),
        graph_(ops),
        placed_(one.values().size()),
        leading_(one.values().size()),
        merged_(one.values().size()) {}

  ArrayResult build() {
    for (Slot slot : one_.slots()) {
      if (slot.role != Role::kConstant) slot.members = options_.members;
      graph_.add_slot(std::move(slot));
    }
    for (ValueId id : one_.inputs()) {
      if (!branches_ || !branches_->makes(id)) add_input(id);
    }
    for (size_t i = 0; i < one_.nodes().size(); ++i) {
      if (branches_) branches_->before(*this, i);
      note_lowering(one_.nodes()[i]);
      add_node(one_.nodes()[i]);
    }
    if (branches_) branches_->before(*this, one_.nodes().size());
    path_.clear();
    for (const Output& output : one_.outputs()) {
      graph_.add_output(output.name, leading(output.value).id);
    }
    for (const Placed& placed : placed_) {
      report_.axes.push_back(placed.axis);
    }
    return {std::move(graph_), std::move(report_)};
  }

  int64_t members() const { return options_.members; }
  Graph& graph() override { return graph_; }
  const Graph& one() const { return one_; }
  const Placed& placed(ValueId id) const { return at(placed_, id); }
  Lowering lowering(const Node& node) const {
    return at(lowerings_, id_of(node));
  }

  Var shared(ValueId id) const override {
    return placed(id).axis == MemberAxis::kShared ? placed(id).value : Var{};
  }

  Var leading(ValueId id) override {
    Var& cached = at(leading_, id);
    if (!cached) {
      if (placed(id).axis == MemberAxis::kMerged)
        note_relayout(id, MemberAxis::kLeading);
      cached = make_leading(at(placed_, id));
    }
    return cached;
  }

  Var merged(ValueId id) {
    Var& cached = at(merged_, id);
    if (!cached) {
      if (placed(id).axis != MemberAxis::kMerged)
        note_relayout(id, MemberAxis::kMerged);
      cached = make_merged(id);
    }
    return cached;
  }

  void place(ValueId id, Var leading) override {
    place(id, leading, MemberAxis::kLeading);
  }

  void place(ValueId id, Var value, MemberAxis axis) {
    at(placed_, id) = {value, axis};
  }

 private:
  NodeId id_of(const Node& node) const {
    return static_cast<NodeId>(&node - one_.nodes().data());
  }
  void note_lowering(const Node& node);
  void note_relayout(ValueId id, MemberAxis to);
  void add_input(ValueId id);
  void add_node(const Node& node);
  Var make_leading(const Placed& from);
  Var make_merged(ValueId id);

  const Graph& one_;
  const ArrayPassOptions& options_;
  const std::vector<Lowering>& lowerings_;
  BranchEmitter* branches_;  // or none
  Graph graph_;
  ArrayPassReport report_;
  std::string path_;  // of the node that is being added
  std::vector<Placed> placed_;
  std::vector<Var> leading_;
  std::vector<Var> merged_;
};

class NodeContext : public ArrayContext {
 public:
  NodeContext(ArrayBuilder& builder, const Node& node)
      : builder_(builder), node_(node) {}
  int64_t members() const override { return builder_.members(); }
  Graph& graph() override { return builder_.graph(); }
  NodeView one() const override { return {builder_.one(), node_}; }
  Lowering lowering() const override { return builder_.lowering(node_); }
  MemberAxis member_axis(size_t i) const override {
    return builder_.placed(node_.inputs[i]).axis;
  }
  Var in(size_t i) override { return builder_.placed(node_.inputs[i]).value; }
  Var leading(size_t i) override { return builder_.leading(node_.inputs[i]); }
  Var merged(size_t i) override { return builder_.merged(node_.inputs[i]); }
  void emit(size_t i, Var value, MemberAxis axis) override {
    builder_.place(node_.outputs[i], value, axis);
  }

 private:
  ArrayBuilder& builder_;
  const Node& node_;
};

void ArrayBuilder::note_lowering(const Node& node) {
  path_ = node.path;
  NodeView view(one_, node);
  bool choice = !lowerings_of(view).empty();
  report_.lowerings.push_back(choice ? std::optional(lowering(node))
                                     : std::nullopt);
  report_.dense.push_back(choice && node.attrs.integer("groups") == 1 &&
                          placed(node.inputs[0]).axis == MemberAxis::kShared);
}

void ArrayBuilder::note_relayout(ValueId id, MemberAxis to) {
  const ValueType& type = one_.value(id).type;
  int64_t bytes = members() * num_elements(type.shape) * item_bytes(type.dtype);
  report_.relayouts.push_back({id, to, bytes, path_});
}

void ArrayBuilder::add_input(ValueId id) {
  const Value& value = one_.value(id);
  const auto& shared = options_.shared_inputs;
  bool is_shared =
      value.name == kMicroInput ||
      std::find(shared.begin(), shared.end(), value.name) != shared.end();
  ValueType type = value.type;
  if (!is_shared) type.shape.insert(type.shape.begin(), members());
  Var placed = input(graph_, value.name, type);
  place(id, placed, is_shared ? MemberAxis::kShared : MemberAxis::kLeading);
}

void ArrayBuilder::add_node(const Node& node) {
  graph_.continue_at(node);
  if (node.is(OpKind::kRead)) {
    bool is_shared = one_.slot(node.slot).role == Role::kConstant;
    return place(node.outputs[0], read(graph_, node.slot),
                 is_shared ? MemberAxis::kShared : MemberAxis::kLeading);
  }
  if (node.is(OpKind::kAssign))
    return assign(node.slot, leading(node.inputs[0]));
  auto is_shared = [&](ValueId id) {
    return id == kNone || placed(id).axis == MemberAxis::kShared;
  };
  auto first = static_cast<NodeId>(graph_.nodes().size());
  NodeContext context(*this, node);
  const Op& op = *node.op;
  if (!op.random &&
      std::all_of(node.inputs.begin(), node.inputs.end(), is_shared)) {
    std::vector<ValueId> inputs;
    for (ValueId id : node.inputs) {
      inputs.push_back(id == kNone ? kNone : placed(id).value.id);
    }
    NodeId copy = graph_.add_like(node, inputs);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      context.emit(i, {&graph_, graph_.node(copy).outputs[i]},
                   MemberAxis::kShared);
    }
    return;
  }
  if (!op.array) fail_usage("[array] op '{}' has no array rule", op.name);
  op.array(context);
  for (auto id = first; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
    Node& made = graph_.node(id);
    if (made.op->random) made.rng_key = node.rng_key;
  }
}

Var ArrayBuilder::make_leading(const Placed& from) {
  Var x = from.value;
  if (from.axis == MemberAxis::kLeading) return x;
  if (from.axis == MemberAxis::kShared) {
    Shape shape = x.shape();
    shape.insert(shape.begin(), members());
    return expand(x, shape);
  }
  Shape split = x.shape();  // [N, B * C, ...] -> [N, B, C, ...]
  split[1] /= members();
  split.insert(split.begin() + 1, members());
  return transpose(reshape(x, split), 0, 1);
}

Var ArrayBuilder::make_merged(ValueId id) {
  const Placed& from = placed(id);
  if (from.axis == MemberAxis::kMerged) return from.value;
  Var x = transpose(leading(id), 0, 1);  // [N, B, C, ...]
  Shape joined = x.shape();
  joined[2] *= members();
  joined.erase(joined.begin() + 1);
  return reshape(x, joined);
}

void check(const Graph& one, const ArrayPassOptions& options) {
  if (options.members < 1) {
    fail_usage("[array] needs at least one member, got {}", options.members);
  }
  for (const std::string& name : options.shared_inputs) {
    if (one.find_input(name) == kNone) {
      fail_usage("[array] there is no input '{}' to share", name);
    }
  }
}

}  // namespace

ArrayResult array_with(const OpTable& ops, const Graph& one,
                       const ArrayPassOptions& options,
                       const std::vector<Lowering>& lowerings) {
  check(one, options);
  return ArrayBuilder(ops, one, options, lowerings, nullptr).build();
}

ArrayResult array_reported(const OpTable& ops, const Graph& one,
                           const ArrayPassOptions& options) {
  return array_with(ops, one, options, choose_lowerings(ops, one, options));
}

Graph array(const OpTable& ops, const Graph& one,
            const ArrayPassOptions& options) {
  return array_reported(ops, one, options).graph;
}

Graph array_with_branches(const OpTable& ops, const Graph& one,
                          const ArrayPassOptions& options,
                          BranchEmitter& branches) {
  check(one, options);
  std::vector<Lowering> lowerings = choose_lowerings(ops, one, options);
  return ArrayBuilder(ops, one, options, lowerings, &branches).build().graph;
}

}  // namespace braid::passes
