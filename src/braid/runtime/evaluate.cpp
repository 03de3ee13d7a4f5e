#include "braid/runtime/evaluate.h"

#include "braid/runtime/cpu_backend.h"
#include "braid/runtime/forward_run.h"

namespace braid::runtime {

std::vector<std::vector<std::byte>> evaluate(const OpTable& ops,
                                             const Graph& graph,
                                             const SlotBytes& slots) {
  KernelTable kernels = cpu_kernels();
  CpuBackend backend(kernels, {});
  ForwardRun run(ops, graph, backend);
  for (size_t i = 0; i < graph.slots().size(); ++i) {
    run.state().write(static_cast<SlotId>(i), slots(static_cast<SlotId>(i)));
  }
  run.executor().step([](int64_t, ValueId) { return nullptr; });
  std::vector<std::vector<std::byte>> results;
  for (const Output& output : graph.outputs()) {
    results.push_back(run.executor().output(output.name));
  }
  return results;
}

}  // namespace braid::runtime
