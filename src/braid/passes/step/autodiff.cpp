#include "braid/passes/step/autodiff.h"

#include <algorithm>

#include "braid/ops/build/functions.h"
#include "braid/passes/rewrite/dead_code.h"
#include "braid/passes/step/gradient_pieces.h"

namespace braid::passes {
namespace {

class Differentiator {
 public:
  explicit Differentiator(Graph& graph)
      : graph_(graph),
        depends_(graph.values().size(), false),
        grads_(graph.values().size()) {}

  std::map<SlotId, ValueId> run(ValueId loss) {
    auto num_nodes = static_cast<NodeId>(graph_.nodes().size());
    for (NodeId id = 0; id < num_nodes; ++id) mark_dependence(id);
    continue_backward(graph_.value(loss).producer);
    Var y{&graph_, loss};
    grad(loss) = full_like(y, y.shape(), 1.0);
    for (NodeId id = num_nodes; id-- > 0;) push_back_through(id);
    return std::move(of_slot_);
  }

 private:
  Var& grad(ValueId id) { return grads_[static_cast<size_t>(id)]; }

  bool depends(ValueId id) const {
    return id != kNone && depends_[static_cast<size_t>(id)];
  }

  // A value depends on a parameter when one of its inputs does.
  void mark_dependence(NodeId id) {
    const Node& node = graph_.node(id);
    bool any = false;
    if (node.is(OpKind::kRead)) {
      const Slot& slot = graph_.slot(node.slot);
      any = slot.role == Role::kParameter && slot.trainable;
    }
    for (ValueId input : node.inputs) any = any || depends(input);
    for (ValueId output : node.outputs) {
      depends_[static_cast<size_t>(output)] =
          any && is_differentiable(graph_.value(output).type.dtype);
    }
  }

  void push_back_through(NodeId id) {
    std::vector<Var> grads;
    bool reached = false;
    for (ValueId output : graph_.node(id).outputs) {
      grads.push_back(depends(output) ? total(id, output) : Var{});
      reached = reached || grads.back();
    }
    if (!reached) return;
    if (graph_.node(id).is(OpKind::kRead)) return add_to_slot(id, grads[0]);
    apply_rule(id, std::move(grads));
  }

  // The gradient of an output of a node, with those of its parts.
  Var total(NodeId id, ValueId output) {
    continue_backward(id);
    Var parts = pieces_.join(output);
    if (!parts) return grad(output);
    return grad(output) ? add(grad(output), parts) : parts;
  }

  // Backward nodes belong to the layer and segment of their forward node.
  void continue_backward(NodeId id) {
    graph_.continue_at(graph_.node(id));
    graph_.set_phase(Phase::kBackward);
  }

  void add_to_slot(NodeId id, Var gradient) {
    continue_backward(id);
    auto [at, fresh] = of_slot_.emplace(graph_.node(id).slot, gradient.id);
    if (!fresh) at->second = add({&graph_, at->second}, gradient).id;
  }

  void apply_rule(NodeId id, std::vector<Var> grads) {
    const Op& op = *graph_.node(id).op;
    check_rule(op, grads);
    continue_backward(id);
    std::vector<bool> needs;
    for (ValueId input : graph_.node(id).inputs)
      needs.push_back(depends(input));
    VjpContext context(graph_, id, std::move(grads), needs);
    op.vjp(context);
    std::vector<ValueId> inputs = graph_.node(id).inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      Var given = context.given()[i];
      if (!given || !needs[i]) continue;
      if (given.type() != graph_.value(inputs[i]).type) {
        fail_usage("[autodiff] '{}' gives input {} a gradient of shape {}",
                   op.name, i, shape_text(given.shape()));
      }
      if (pieces_.take(inputs[i], given)) continue;
      Var& sum = grad(inputs[i]);
      sum = sum ? add(sum, given) : given;
    }
  }

  // A gradient that no rule passes on would be lost without a word.
  static void check_rule(const Op& op, const std::vector<Var>& grads) {
    if (!op.vjp) fail_usage("[autodiff] op '{}' has no gradient", op.name);
    if (op.takes_all_gradients) return;
    bool beside = std::any_of(grads.begin() + 1, grads.end(),
                              [](Var grad) { return bool(grad); });
    if (grads[0] && !beside) return;
    fail_usage("[autodiff] only the first output of '{}' has a gradient",
               op.name);
  }

  Graph& graph_;
  std::vector<bool> depends_;
  std::vector<Var> grads_;
  GradientPieces pieces_;
  std::map<SlotId, ValueId> of_slot_;
};

// Buffers change when all readers have run, so that a recomputed forward
// sees what the first one saw.
void move_assignments_last(Graph& graph) {
  std::vector<NodeId> order, last;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    bool writes = graph.nodes()[i].is(OpKind::kAssign);
    (writes ? last : order).push_back(static_cast<NodeId>(i));
  }
  for (NodeId id : last) graph.node(id).phase = Phase::kBackward;
  order.insert(order.end(), last.begin(), last.end());
  graph.reorder(order);
}

}  // namespace

Gradients differentiate(const OpTable& ops, Graph forward,
                        const std::string& loss) {
  ValueId value = forward.find_output(loss);
  if (value == kNone) {
    fail_usage("[autodiff] the graph has no output '{}'", loss);
  }
  if (!is_floating(forward.value(value).type.dtype)) {
    fail_usage("[autodiff] output '{}' is no float", loss);
  }
  if (forward.value(value).producer == kNone) {
    fail_usage("[autodiff] output '{}' is an input of the graph", loss);
  }
  Gradients result{std::move(forward), {}};
  result.of_slot = Differentiator(result.graph).run(value);
  move_assignments_last(result.graph);
  std::vector<ValueId> wanted;
  for (auto [slot, gradient] : result.of_slot) wanted.push_back(gradient);
  remove_dead_code(ops, result.graph, wanted);
  return result;
}

}  // namespace braid::passes
