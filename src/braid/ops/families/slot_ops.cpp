// The only ops that touch slots.
#include "braid/ops/core/families.h"
#include "braid/ops/core/traits.h"

namespace braid {
namespace {

const Slot& slot_of(const NodeView& v) {
  SlotId id = v.node().slot;
  if (id < 0 || static_cast<size_t>(id) >= v.graph().slots().size()) {
    v.fail("has no slot");
  }
  return v.graph().slot(id);
}

std::vector<ValueType> write_shape(const NodeView& v) {
  const Slot& slot = slot_of(v);
  if (v.type(0) != ValueType{slot.dtype, slot.stored_shape()}) {
    v.fail("{} {} does not fit slot '{}' {} {}", dtype_name(v.dtype(0)),
           shape_text(v.shape(0)), slot.name, dtype_name(slot.dtype),
           shape_text(slot.stored_shape()));
  }
  return {};
}

}  // namespace

void add_slot_ops(OpTable& table) {
  table.add({.name = "read",
             .summary = "the slot's content",
             .kind = OpKind::kRead,
             .min_inputs = 0,
             .max_inputs = 0,
             .shape = [](const NodeView& v) -> std::vector<ValueType> {
               const Slot& slot = slot_of(v);
               return {{slot.dtype, slot.stored_shape()}};
             }});
  table.add({.name = "assign",
             .summary = "the value becomes the slot's content",
             .kind = OpKind::kAssign,
             .shape = write_shape,
             .writes_slot = true});
  table.add({.name = "accumulate",
             .summary = "slot = value * scale in micro-batch 0, else slot += "
                        "value * scale",
             .kind = OpKind::kAccumulate,
             .min_inputs = 2,
             .max_inputs = 2,
             .shape = write_shape,
             .writes_slot = true});
}

}  // namespace braid
