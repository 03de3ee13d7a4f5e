#include "braid/runtime/executables.h"

namespace braid::runtime {
compile::Target target_of(const OpTable& ops, Backend& backend, int threads) {
  return {.device = backend.info(),
          .threads = threads,
          .limit_bytes = backend.account().room_bytes(),
          .host_limit_bytes = backend.host_account().room_bytes(),
          .workspace = measured_workspace(ops, backend, threads)};
}

compile::ProgramSet compile_for(const OpTable& ops,
                                const std::vector<compile::StepSpec>& specs,
                                Backend& backend,
                                const ExecutableOptions& options) {
  compile::Target target = target_of(ops, backend, options.threads);
  target.has_file = !options.spill_dir.empty();
  target.profile = options.profile;
  target.lowering = options.lowering;
  return compile::compile_programs(ops, specs, target, options.plan,
                                   options.observer);
}

Executables::Executables(const OpTable& ops,
                         const std::vector<compile::StepSpec>& specs,
                         Backend& backend, const ExecutableOptions& options)
    : set_(options.set ? options.set
                       : std::make_shared<const compile::ProgramSet>(
                             compile_for(ops, specs, backend, options))),
      state_(std::make_unique<State>(set_->slots, set_->places, backend,
                                     options.spill_dir)) {
  auto arena = std::make_shared<Arena>(backend, set_->arena_bytes,
                                       set_->host_arena_bytes);
  for (const plan::Program& program : set_->programs) {
    executors_.push_back(std::make_unique<Executor>(
        ops, program, *state_, backend,
        ExecutorOptions{options.threads, options.capture, arena}));
  }
}

}  // namespace braid::runtime
