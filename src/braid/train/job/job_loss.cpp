#include "braid/train/job/job_loss.h"

#include "braid/base/error.h"
#include "braid/ops/build/functions.h"
#include "braid/passes/rewrite/dead_code.h"
#include "braid/train/job/model_file.h"

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

ValueId find_target(Graph& graph, const std::string& name,
                    const LossPlaces& places) {
  ValueId known = graph.find_input(name);
  if (known != kNone) return known;
  auto type = places.inputs.find(name);
  if (type != places.inputs.end()) return graph.add_input(name, type->second);
  fail_usage("[loss] the target '{}' is no field of the data", name);
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

Graph replace_loss(const OpTable& ops, Graph graph, const LossPlaces& places,
                   const LossFunction& loss) {
  constexpr const char* kCompared = "loss/compared";
  std::string target = places.target;
  if (target.empty()) target = graph.value(graph.inputs().back()).name;
  graph.add_output(kCompared, find_output(graph, places));
  auto is_loss = [](const Output& o) { return o.name == "loss"; };
  std::erase_if(graph.outputs(), is_loss);
  passes::remove_dead_code(ops, graph);
  graph = without_unused_inputs(graph);
  Var compared{&graph, graph.find_output(kCompared)};
  graph.set_path("loss");
  Var made = loss(compared, {&graph, find_target(graph, target, places)});
  check_loss(graph, made);
  ValueId id = reshape(made, {}).id;
  graph.outputs().pop_back();
  graph.outputs().insert(graph.outputs().begin(), Output{"loss", id});
  return graph;
}

}  // namespace braid::train
