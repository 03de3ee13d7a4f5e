// Executables: the programs of one model or array, ready to run on a device.
// They share one State and take turns in one arena.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "braid/compile/program_set.h"
#include "braid/runtime/executor.h"

namespace braid::runtime {

struct ExecutableOptions {
  int threads = 1;
  bool capture = true;
  compile::PlanRequest plan = {};
  // See compile::Target.
  plan::Profile profile = {};
  std::optional<Lowering> lowering = {};
  std::filesystem::path spill_dir = {};  // for slots in a file; may be empty
  compile::PassObserver observer = {};   // of the compilation
  // What was compiled before for such a device; null: it is compiled here.
  std::shared_ptr<const compile::ProgramSet> set = {};
};

// What a step is compiled for that runs on this device, with scratch measured
// there. Borrows the table and the backend.
compile::Target target_of(const OpTable& ops, Backend& backend, int threads);

// What Executables with these options would run on the backend.
compile::ProgramSet compile_for(const OpTable& ops,
                                const std::vector<compile::StepSpec>& specs,
                                Backend& backend,
                                const ExecutableOptions& options);

class Executables {
 public:
  // Compiles, then takes the memory. Borrows the table and the backend. Throws
  // as compile_programs() does.
  Executables(const OpTable& ops, const std::vector<compile::StepSpec>& specs,
              Backend& backend, const ExecutableOptions& options);

  size_t size() const { return set_->programs.size(); }
  const plan::Program& program(size_t index) const {
    return set_->programs[index];
  }
  Executor& executor(size_t index) const { return *executors_[index]; }
  State& state() { return *state_; }
  const compile::ProgramSet& set() const { return *set_; }
  const std::shared_ptr<const compile::ProgramSet>& shared_set() const {
    return set_;
  }
  const plan::Plan& plan() const { return set_->plan; }
  int64_t peak_bytes() const { return set_->peak_bytes; }
  int64_t host_bytes() const { return set_->host_bytes; }
  int64_t disk_bytes() const { return set_->disk_bytes; }

 private:
  std::shared_ptr<const compile::ProgramSet> set_;
  std::unique_ptr<State> state_;
  std::vector<std::unique_ptr<Executor>> executors_;
};

}  // namespace braid::runtime
