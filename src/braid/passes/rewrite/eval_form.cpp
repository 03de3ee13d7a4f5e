#include "braid/passes/rewrite/eval_form.h"

#include <algorithm>

#include "braid/base/error.h"
#include "braid/graph/copy.h"
#include "braid/ops/build/functions.h"
#include "braid/passes/rewrite/dead_code.h"

namespace braid::passes {
namespace {

class EvalForm {
 public:
  EvalForm(const OpTable& ops, const Graph& from)
      : ops_(ops), from_(from), copy_(from) {}

  Graph make() {
    copy_.add_slots();
    copy_.add_inputs();
    for (const Node& node : from_.nodes()) {
      if (!node.op->writes_slot) add(node);
    }
    for (const Output& output : from_.outputs()) add_output(output);
    remove_dead_code(ops_, copy_.to);
    return std::move(copy_.to);
  }

 private:
  ValueId& at(ValueId id) { return copy_.value(id); }

  void add_output(const Output& output) {
    if (at(output.value) == kNone) {
      fail_usage("[eval form] output '{}' is made of statistics of a batch",
                 output.name);
    }
    copy_.to.add_output(output.name, at(output.value));
  }

  // What is made of statistics of a batch is not there, and may be needed
  // only for slots.
  bool is_gone(const Node& node) {
    return std::ranges::any_of(node.inputs, [&](ValueId id) {
      return id != kNone && at(id) == kNone;
    });
  }

  void add(const Node& node) {
    if (is_gone(node)) return;
    copy_.to.continue_at(node);
    if (node.is(OpKind::kDropout)) {
      at(node.outputs[0]) = at(node.inputs[0]);
    } else if (node.is(OpKind::kBatchNorm)) {
      add_norm(node);
    } else {
      add_copy(node);
    }
  }

  void add_copy(const Node& node) {
    copy_.add(node);
    bool is_rate = node.is(OpKind::kRead) &&
                   from_.slot(node.slot).use == SlotUse::kDropoutRate;
    if (is_rate) {  // of ops that drop and do more than that
      ValueId& rate = at(node.outputs[0]);
      rate = mul_scalar({&copy_.to, rate}, 0).id;
    }
  }

  // Without running statistics a norm is the same in both forms.
  void add_norm(const Node& node) {
    bool has_running = node.inputs.size() > 4 && node.inputs[3] != kNone;
    if (!has_running || !node.attrs.flag("training")) return add_copy(node);
    Attrs attrs = node.attrs;
    attrs.set("training", false);
    const Node& norm =
        copy_.to.node(copy_.to.add(*node.op, copy_.inputs_of(node), attrs));
    for (size_t i = 0; i < norm.outputs.size(); ++i) {
      at(node.outputs[i]) = norm.outputs[i];
    }
  }

  const OpTable& ops_;
  const Graph& from_;
  GraphCopy copy_;
};

}  // namespace

Graph eval_form(const OpTable& ops, const Graph& forward) {
  return EvalForm(ops, forward).make();
}

}  // namespace braid::passes
