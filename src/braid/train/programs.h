// Programs: everything that runs on one model or array. Steps for several
// batch sizes or phases, and evaluations, share one State and take turns in
// one arena.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "braid/ops/core/op.h"
#include "braid/passes/array/array.h"
#include "braid/passes/step/optimizer.h"
#include "braid/passes/step/schedule.h"
#include "braid/plan/profile.h"
#include "braid/runtime/executor.h"

namespace braid::train {

// What one program is made from.
struct ProgramSource {
  Graph forward;  // has an output "loss"
  // Of an array whose members differ in some layers: their graphs, in place of
  // `forward`; see passes/array/partial.h.
  std::vector<Graph> members = {};
  // Of a step; without a kind the program only runs forward.
  passes::Optimizer optimizer = {};
  bool scheduled = false;     // the rates come from schedules,
  bool watches_loss = false;  // one of which looks at the loss
  int64_t micro_batches = 1;
  // Inputs that all members of an array share, besides those of the options.
  std::vector<std::string> shared_inputs = {};

  bool learns() const { return !optimizer.kind.empty(); }
};

struct ProgramOptions {
  int64_t members = 0;                          // 0: one model, no member axis
  std::vector<std::string> shared_inputs = {};  // one minibatch for all
  bool masked = false;  // members may pause, see passes/array/member_mask.h
  DType precision = DType::kFloat32;  // of the work; or bf16, see precision.h
  plan::Plan plan = {};               // empty: everything stays on the device
  // Try plans that take less and less device memory until one fits the
  // device's limit. Used when `plan` is empty.
  bool fit_to_limit = true;
  int threads = 1;
  bool capture = true;
  // How convolutions of an array are computed: the fastest by the seconds in
  // `profile`, where it has them, or one `lowering` for all.
  plan::Profile profile = {};
  std::optional<Lowering> lowering = {};
  // Whose seconds they are, and what the step is made for.
  std::string device = "cpu";
};

// Names of the segments that a plan for this model decides about.
std::vector<std::string> segment_names(const Graph& forward);
std::vector<std::string> segment_names(const OpTable& ops,
                                       const ProgramSource& source);

// What the array pass is told by these options.
passes::ArrayOptions array_options(const ProgramOptions& options);

// One program before planning: array, precision, autodiff, accumulation,
// optimizer, layout and, on a CPU, chains.
passes::StepGraph build_step(const OpTable& ops, const ProgramSource& source,
                             const ProgramOptions& options);

class Programs {
 public:
  // Borrows the table and the backend. A given plan is the first source's;
  // with several sources all of them follow it where their segments agree.
  // Throws std::runtime_error with what is missing when they do not fit the
  // device's limit.
  Programs(const OpTable& ops, const std::vector<ProgramSource>& sources,
           runtime::Backend& backend, ProgramOptions options);

  size_t size() const { return programs_.size(); }
  const plan::Program& program(size_t index) const { return *programs_[index]; }
  runtime::Executor& executor(size_t index) { return *executors_[index]; }
  runtime::State& state() { return *state_; }
  // Of the first source.
  const plan::Plan& plan() const { return plan_; }
  // What the device's account holds, exactly.
  int64_t peak_bytes() const { return peak_bytes_; }
  const ProgramOptions& options() const { return options_; }

 private:
  void compile(const OpTable& ops, const std::vector<ProgramSource>& sources,
               runtime::Backend& backend);
  void compile_all(const OpTable& ops,
                   const std::vector<passes::StepGraph>& steps,
                   const std::vector<plan::Plan>& plans,
                   runtime::Backend& backend);
  void merge_slots();
  std::string report(int64_t limit_bytes) const;

  ProgramOptions options_;
  plan::Plan plan_;
  std::vector<std::unique_ptr<plan::Program>> programs_;
  std::vector<Slot> slots_;              // of all programs, by name
  std::vector<plan::SlotPlace> places_;  // where they lie
  int64_t peak_bytes_ = 0, arena_bytes_ = 0, host_arena_bytes_ = 0;
  std::unique_ptr<runtime::State> state_;
  std::vector<std::unique_ptr<runtime::Executor>> executors_;
};

}  // namespace braid::train
