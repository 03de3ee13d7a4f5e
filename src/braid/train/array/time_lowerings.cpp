#include "braid/train/array/time_lowerings.h"

#include <algorithm>

#include "braid/ops/build/functions.h"
#include "braid/plan/lowering_profile.h"
#include "braid/runtime/executables.h"

namespace braid::train {
namespace {

constexpr int kRuns = 3;  // after one that warms up

// The convolution alone, of operands that all want gradients.
Graph alone(const OpTable& ops, const NodeView& one) {
  Graph graph(ops);
  std::vector<Var> inputs;
  for (size_t i = 0; i < one.count(); ++i) {
    if (!one.has(i)) {
      inputs.emplace_back();
      continue;
    }
    SlotId slot = graph.add_slot({.name = fmt::format("in{}", i),
                                  .dtype = one.dtype(i),
                                  .shape = one.shape(i),
                                  .init = Init::uniform(1)});
    inputs.push_back(read(graph, slot));
  }
  Var y = apply(*one.node().op, inputs, one.attrs());
  graph.add_output("loss", sum(mul(y, y), {}).id);
  return graph;
}

// Turning values to another layout is not the convolution's.
bool counts(const Node& node) {
  switch (node.op->kind) {
    case OpKind::kConvolution:
    case OpKind::kTransposedConvolution:
    case OpKind::kConvolutionBackward:
    case OpKind::kProduct: return true;
    default: return false;
  }
}

double seconds_of_run(runtime::Executor& executor) {
  std::vector<double> seconds;
  executor.time_calls(&seconds);
  executor.step({});
  executor.time_calls(nullptr);
  double all = 0;
  for (size_t i = 0; i < seconds.size(); ++i) {
    const plan::Program& program = executor.program();
    if (counts(program.graph.node(program.calls[i].node))) all += seconds[i];
  }
  return all;
}

double seconds_of(const OpTable& ops, const NodeView& one, int64_t members,
                  Lowering lowering, runtime::Backend& backend, int threads) {
  passes::Optimizer still = passes::make_optimizer("sgd");
  still.hyper["lr"] = 0;
  runtime::Executables programs(
      ops,
      {{.forward = alone(ops, one), .optimizer = still, .capacity = members}},
      backend, {.threads = threads, .capture = false, .lowering = lowering});
  programs.state().initialise(
      std::vector<int64_t>(static_cast<size_t>(members), 0));
  double best = seconds_of_run(programs.executor(0));
  for (int run = 0; run < kRuns; ++run) {
    best = std::min(best, seconds_of_run(programs.executor(0)));
  }
  return best;
}

}  // namespace

plan::Profile time_lowerings(const OpTable& ops, const Graph& forward,
                             int64_t members, runtime::Backend& backend,
                             int threads, const plan::Profile& known) {
  plan::Profile found;
  if (!backend.info().has_lowerings) return found;
  for (const Node& node : forward.nodes()) {
    NodeView one(forward, node);
    for (Lowering lowering : lowerings_of(one)) {
      std::string key = plan::lowering_key(backend.info().id.kind, threads, one,
                                           members, lowering);
      bool is_known = known.find(plan::Measured::kLowering, key) ||
                      found.find(plan::Measured::kLowering, key);
      if (is_known) continue;
      found.set(plan::Measured::kLowering, key,
                seconds_of(ops, one, members, lowering, backend, threads));
    }
  }
  return found;
}

}  // namespace braid::train
