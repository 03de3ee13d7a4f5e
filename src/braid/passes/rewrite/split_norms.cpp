#include "braid/passes/rewrite/split_norms.h"

#include "braid/graph/copy.h"
#include "braid/ops/build/functions.h"

namespace braid::passes {
namespace {

// Writes the nodes of a split norm at the place of the old one.
class Splitter {
 public:
  Splitter(GraphCopy& copy, const Node& node) : copy_(copy), node_(node) {
    copy.to.continue_at(node);
  }

  void forward() {
    Var x = in(0);
    Attrs attrs = members_alone();
    attrs.set("eps", node_.attrs.number("eps"));
    attrs.set("momentum", node_.attrs.number("momentum"));
    std::vector<Var> inputs{x, in(1), in(3), in(4)};
    while (!inputs.back()) inputs.pop_back();
    auto made = apply_all("batch_norm_statistics", inputs, attrs);
    // One by one: compilers differ in which argument they evaluate first.
    Var mean = spread(made[0], x), scale = spread(made[2], x), y = wide(x);
    y = mul(sub(y, mean), scale);
    if (in(2)) y = add(y, spread(in(2), x));
    emit(0, cast(y, x.dtype()));
    emit(1, made[0]);
    emit(2, made[1]);
    for (size_t i = 3; i < node_.outputs.size(); ++i) emit(i, made[i]);
  }

  void backward() {
    Var dy = in(0), x = in(1), mean = in(3);
    auto made = apply_all("batch_norm_sums", {dy, x, in(2), mean, in(4)},
                          members_alone());
    Var center = spread(mean, x), slope = spread(made[3], x);
    Var shift = spread(made[2], x), scale = spread(made[4], x);
    Var away = wide(x);
    away = mul(sub(away, center), slope);
    Var dx = wide(dy);
    dx = mul(sub(sub(dx, shift), away), scale);
    emit(0, cast(dx, x.dtype()));
    emit(1, made[0]);
    emit(2, made[1]);
  }

 private:
  Var in(size_t i) {
    if (i >= node_.inputs.size() || node_.inputs[i] == kNone) return {};
    return {&copy_.to, copy_.value(node_.inputs[i])};
  }
  void emit(size_t i, Var value) { copy_.value(node_.outputs[i]) = value.id; }

  int64_t members() const { return node_.attrs.integer_or("members", 0); }
  Attrs members_alone() const {
    return members() > 0 ? Attrs{{"members", members()}} : Attrs{};
  }

  static Var wide(Var x) {
    return item_bytes(x.dtype()) < 4 ? cast(x, DType::kFloat32) : x;
  }

  // Numbers of channels, to meet x.
  Var spread(Var numbers, Var x) const {
    Shape shape(static_cast<size_t>(x.rank()), 1);
    size_t lead = members() > 0 ? 1 : 0;
    shape[lead + 1] = x.shape()[lead + 1];
    if (lead > 0) shape[0] = x.shape()[0];
    return reshape(numbers, shape);
  }

  GraphCopy& copy_;
  const Node& node_;
};

// In training, of something, with numbers of channels that are not narrow.
bool is_split(const Graph& graph, const Node& node) {
  bool is_norm =
      node.is(OpKind::kBatchNorm) || node.is(OpKind::kBatchNormBackward);
  if (!is_norm || !node.attrs.flag("training")) return false;
  return num_elements(graph.value(node.inputs[0]).type.shape) > 0 &&
         item_bytes(graph.value(node.outputs[1]).type.dtype) >= 4;
}

}  // namespace

StepGraph split_norms(const OpTable&, const StepGraph& step) {
  GraphCopy copy(step.graph);
  copy.add_slots();
  copy.add_inputs();
  for (const Node& node : step.graph.nodes()) {
    if (!is_split(step.graph, node)) {
      copy.add(node);
    } else if (node.is(OpKind::kBatchNorm)) {
      Splitter(copy, node).forward();
    } else {
      Splitter(copy, node).backward();
    }
  }
  copy.add_outputs();
  StepGraph next{std::move(copy.to), step.micro_batches, step.gradients};
  for (auto& [slot, value] : next.gradients) value = copy.value(value);
  return next;
}

}  // namespace braid::passes
