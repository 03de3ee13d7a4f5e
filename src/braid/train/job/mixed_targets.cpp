#include "braid/train/job/mixed_targets.h"

#include "braid/base/error.h"

namespace braid::train {
namespace {

constexpr size_t kLogits = 0, kTarget = 1;  // operands of the loss

[[noreturn]] void fail_reader(const data::Field& field, const Node& node) {
  fail_usage(
      "[data.augment] mixup makes probabilities of '{}', and '{}' reads it, "
      "which takes labels\n"
      "HINT: a cross entropy of a class per sample is what mixup goes with; of "
      "an exported model, export it without its loss and write loss: "
      "cross_entropy",
      field.name, node.op->name);
}

void check_reader(const Graph& forward, const data::Field& field,
                  const Node& node, ValueId target) {
  bool is_loss = node.op->name == "cross_entropy_loss" &&
                 node.inputs[kTarget] == target &&
                 node.inputs[kLogits] != target;
  if (!is_loss) fail_reader(field, node);
  const Shape& scores = forward.value(node.inputs[kLogits]).type.shape;
  if (scores.size() != 2) fail_reader(field, node);
  if (scores[1] == field.classes) return;
  fail_usage(
      "[data.augment] mixup makes probabilities of {} classes, and the model "
      "has {} outputs\nHINT: say so beside the source, 'classes: {}'",
      field.classes, scores[1], scores[1]);
}

}  // namespace

void take_mixed_targets(Graph& forward, const JobData& data, int64_t rows) {
  Users users = forward.users();
  for (ValueId id : forward.inputs()) {
    Value& value = forward.value(id);
    std::optional<size_t> number = data.field_of(value.name);
    if (!number || !data.train->fields()[*number].is_mixed) continue;
    const data::Field& field = data.train->fields()[*number];
    for (NodeId reader : users.of(id)) {
      check_reader(forward, field, forward.node(reader), id);
    }
    value.type = {field.dtype, {rows, field.classes}};
  }
}

}  // namespace braid::train
