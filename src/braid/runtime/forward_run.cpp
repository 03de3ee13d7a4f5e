#include "braid/runtime/forward_run.h"

#include "braid/passes/rewrite/layout.h"
#include "braid/plan/compile.h"

namespace braid::runtime {
namespace {

plan::Program compile_forward(const OpTable& ops, const Graph& graph,
                              Backend& backend, int threads) {
  passes::StepGraph step = passes::layout(ops, passes::StepGraph{graph});
  return plan::compile(ops, step, {},
                       measured_workspace(ops, backend, threads));
}

}  // namespace

ForwardRun::ForwardRun(const OpTable& ops, const Graph& graph, Backend& backend,
                       int threads)
    : program_(compile_forward(ops, graph, backend, threads)),
      state_(program_.graph.slots(), program_.slots, backend),
      executor_(ops, program_, state_, backend, {.threads = threads}) {}

}  // namespace braid::runtime
