#include "braid/passes/rewrite/trainable.h"

#include "braid/base/error.h"

namespace braid::passes {
namespace {

bool has_single_values(const Graph& graph, const Node& node) {
  if (!node.is(OpKind::kBatchNorm) || !node.attrs.flag("training"))
    return false;
  const Shape& values = graph.value(node.inputs[0]).type.shape;
  const Shape& channels = graph.value(node.outputs[1]).type.shape;
  return num_elements(values) > 0 &&
         num_elements(values) == num_elements(channels);
}

}  // namespace

void check_trainable(const Graph& forward) {
  for (const Node& node : forward.nodes()) {
    if (!has_single_values(forward, node)) continue;
    fail_usage(
        "[model] the batch norm{} needs more than one value per channel to "
        "train, got {}\n"
        "HINT: give batches more rows",
        node.path.empty() ? "" : fmt::format(" '{}'", node.path),
        shape_text(forward.value(node.inputs[0]).type.shape));
  }
}

}  // namespace braid::passes
