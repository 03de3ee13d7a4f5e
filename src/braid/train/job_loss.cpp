#include "braid/train/job_loss.h"

#include "braid/base/error.h"
#include "braid/ops/functions.h"

namespace braid::train {
namespace {

ValueId find_output(const Graph& graph, const LossPlaces& places) {
  for (const Output& o : graph.outputs()) {
    bool fits =
        places.output.empty() ? o.name != "loss" : o.name == places.output;
    if (fits) return o.value;
  }
  fail_usage("[loss] '{}' has no output '{}'", places.model, places.output);
}

ValueId find_target(Graph& graph, const LossPlaces& places) {
  if (places.target.empty()) return graph.inputs().back();
  ValueId known = graph.find_input(places.target);
  if (known != kNone) return known;
  auto type = places.inputs.find(places.target);
  if (type != places.inputs.end()) {
    return graph.add_input(places.target, type->second);
  }
  fail_usage("[loss] '{}' has no input '{}'", places.model, places.target);
}

void check_loss(const Graph& graph, Var loss) {
  if (!loss || loss.graph != &graph) {
    fail_usage("[loss] the function gave no value of the model's graph");
  }
  if (is_floating(loss.dtype()) && loss.numel() == 1) return;
  fail_usage(
      "[loss] expected one float, got {}{}\n"
      "HINT: take the mean over the samples",
      dtype_name(loss.dtype()), shape_text(loss.shape()));
}

}  // namespace

void replace_loss(Graph& graph, const LossPlaces& places,
                  const LossFunction& loss) {
  Var output{&graph, find_output(graph, places)};
  Var target{&graph, find_target(graph, places)};
  graph.set_path("loss");
  Var made = loss(output, target);
  check_loss(graph, made);
  ValueId id = reshape(made, {}).id;
  auto& outputs = graph.outputs();
  std::erase_if(outputs, [](const Output& o) { return o.name == "loss"; });
  outputs.insert(outputs.begin(), Output{"loss", id});
}

}  // namespace braid::train
