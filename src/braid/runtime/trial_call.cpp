#include "braid/runtime/trial_call.h"

namespace braid::runtime {

Call trial_call(const Graph& graph, const Node& node, Workspace& workspace,
                const std::function<std::byte*(int64_t bytes)>& make_memory) {
  auto trial = [&](const ValueType& type, const Strides& strides,
                   int64_t offset) -> Tensor {
    int64_t item = item_bytes(type.dtype);
    int64_t span = offset + span_elements(type.shape, strides);
    return {make_memory(span * item) + offset * item, type.dtype, type.shape,
            strides};
  };
  auto operand = [&](ValueId id) -> Tensor {
    if (id == kNone) return {};
    const Value& value = graph.value(id);
    return trial(value.type, value.strides, value.offset);
  };
  Call call{
      .node = &node, .inputs = {}, .outputs = {}, .workspace = &workspace};
  for (ValueId id : node.inputs) call.inputs.push_back(operand(id));
  for (ValueId id : node.outputs) call.outputs.push_back(operand(id));
  if (node.slot != kNone) {
    const Slot& slot = graph.slot(node.slot);
    Shape shape = slot.stored_shape();
    call.outputs.push_back(
        trial({slot.dtype, shape}, contiguous_strides(shape), 0));
  }
  return call;
}

}  // namespace braid::runtime
