// ForwardRun: a graph without gradients and updates, ready to run.
#pragma once

#include "braid/passes/step/step_graph.h"
#include "braid/runtime/executor.h"

namespace braid::runtime {

class ForwardRun {
 public:
  // Borrows the table and the backend. Slots are zero at first.
  ForwardRun(const OpTable& ops, const Graph& graph, Backend& backend,
             int threads = 1);

  State& state() { return state_; }
  // One run is one step of it.
  Executor& executor() { return executor_; }
  const Graph& graph() const { return program_.graph; }

 private:
  plan::Program program_;
  State state_;
  Executor executor_;
};

}  // namespace braid::runtime
