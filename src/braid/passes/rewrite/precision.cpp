#include "braid/passes/rewrite/precision.h"

#include <algorithm>
#include <map>

#include "braid/ops/build/functions.h"

namespace braid::passes {
namespace {

// The two types that the pass moves values between.
bool is_movable(DType dtype, DType compute) {
  return dtype == DType::kFloat32 || dtype == compute;
}

class PrecisionBuilder {
 public:
  PrecisionBuilder(const OpTable& ops, const Graph& from,
                   const PrecisionOptions& options)
      : from_(from),
        compute_(options.compute),
        mixed_(options.mixed),
        graph_(ops),
        map_(from.values().size(), kNone) {}

  Graph build() {
    for (const Slot& slot : from_.slots()) graph_.add_slot(slot);
    for (ValueId id : from_.inputs()) {
      const Value& value = from_.value(id);
      at(id) = graph_.add_input(value.name, value.type);
    }
    for (const Node& node : from_.nodes()) add_node(node);
    for (const Output& output : from_.outputs()) add_output(output);
    return std::move(graph_);
  }

 private:
  ValueId& at(ValueId id) { return map_[static_cast<size_t>(id)]; }
  DType dtype(ValueId id) const { return graph_.value(id).type.dtype; }

  bool is_movable_value(ValueId id) const {
    return id != kNone && is_movable(dtype(id), compute_);
  }

  void add_node(const Node& node) {
    graph_.continue_at(node);
    std::vector<ValueId> inputs;
    for (ValueId id : node.inputs) inputs.push_back(id == kNone ? id : at(id));
    bool moves = !node.is(OpKind::kCast) && !inputs.empty();
    DType first = inputs.empty() || inputs[0] == kNone ? DType::kFloat32
                                                       : dtype(inputs[0]);
    if (moves) cast_inputs(node, inputs);
    NodeId id = graph_.add_like(node, inputs);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      at(node.outputs[i]) = graph_.node(id).outputs[i];
    }
    bool back = node.op->precision == Precision::kFullInside;
    if (back && !mixed_)
      at(node.outputs[0]) = in_type(at(node.outputs[0]), first);
  }

  // Ops whose kernels of mixed types take operand 0 as it is: norms, and losses
  // over classes that are given by number and not weighted.
  bool reads_narrow(const Node& node) const {
    if (!mixed_) return false;
    if (node.op->precision == Precision::kFullInside) return true;
    if (!node.is(OpKind::kCrossEntropy)) return false;
    bool weighted = node.inputs.size() > 2 && node.inputs[2] != kNone;
    return !weighted && !is_floating(from_.value(node.inputs[1]).type.dtype);
  }

  void cast_inputs(const Node& node, std::vector<ValueId>& inputs) {
    DType type = type_for(node, inputs);
    for (size_t i = reads_narrow(node) ? 1 : 0; i < inputs.size(); ++i) {
      if (is_movable_value(inputs[i])) inputs[i] = in_type(inputs[i], type);
    }
  }

  DType type_for(const Node& node, const std::vector<ValueId>& inputs) const {
    if (node.is(OpKind::kAssign)) return graph_.slot(node.slot).dtype;
    if (gives_double(node)) return DType::kFloat32;
    Precision precision = node.op->precision;
    if (precision == Precision::kLow) return compute_;
    if (precision != Precision::kFollow) return DType::kFloat32;
    DType widest = compute_;
    for (ValueId id : inputs) {
      if (is_movable_value(id)) widest = std::max(widest, dtype(id));
    }
    return widest;
  }

  // Work in f64, though an operand may be f32.
  bool gives_double(const Node& node) const {
    return std::ranges::any_of(node.outputs, [&](ValueId id) {
      return from_.value(id).type.dtype == DType::kFloat64;
    });
  }

  // The value in a type, cast where it is first wanted so.
  ValueId in_type(ValueId id, DType type) {
    if (dtype(id) == type) return id;
    auto [at, fresh] = casts_.try_emplace({source_of(id), type}, kNone);
    if (fresh) at->second = cast({&graph_, id}, type).id;
    return at->second;
  }

  // What a value is a copy of: a parameter read twice is one source.
  std::pair<SlotId, ValueId> source_of(ValueId id) const {
    NodeId producer = graph_.value(id).producer;
    if (producer == kNone) return {kNone, id};
    SlotId slot = graph_.node(producer).slot;
    bool master = slot != kNone && graph_.slot(slot).role == Role::kParameter;
    return master ? std::pair{slot, kNone} : std::pair{kNone, id};
  }

  void add_output(const Output& output) {
    const Value& before = from_.value(output.value);
    ValueId value = at(output.value);
    NodeId producer = graph_.value(value).producer;
    if (producer != kNone) graph_.continue_at(graph_.node(producer));
    if (is_movable_value(value)) value = in_type(value, before.type.dtype);
    graph_.add_output(output.name, value);
  }

  const Graph& from_;
  DType compute_;
  bool mixed_;
  Graph graph_;
  std::vector<ValueId> map_;
  std::map<std::pair<std::pair<SlotId, ValueId>, DType>, ValueId> casts_;
};

void check_masters(const Graph& forward, DType compute) {
  for (const Slot& slot : forward.slots()) {
    if (slot.role != Role::kParameter || slot.dtype == DType::kFloat32) {
      continue;
    }
    fail_usage(
        "[precision] {} needs parameters in f32; '{}' is {}\n"
        "HINT: make the model in f32, or leave the precision out",
        dtype_name(compute), slot.name, dtype_name(slot.dtype));
  }
}

}  // namespace

Graph lower_precision(const OpTable& ops, const Graph& forward,
                      const PrecisionOptions& options) {
  if (options.compute == DType::kFloat32) return forward;
  if (options.compute != DType::kBFloat16) {
    fail_usage("[precision] computes in f32 or bf16, not in {}",
               dtype_name(options.compute));
  }
  check_masters(forward, options.compute);
  return PrecisionBuilder(ops, forward, options).build();
}

}  // namespace braid::passes
