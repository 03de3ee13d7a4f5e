// StepRun: the loop of a `step` run, its checkpoints and the files it leaves.
#pragma once

#include <optional>
#include <vector>

#include "braid/cli/out_dir.h"
#include "braid/cli/verbs/run_checkpoint.h"
#include "braid/cli/verbs/step_job.h"

namespace braid::cli {

class StepRun {
 public:
  // Borrows everything. The trainer is new; it is initialised here, or filled
  // from the checkpoint to go on from.
  StepRun(const StepJob& job, train::Trainer& trainer,
          runtime::Backend& backend, const OutDir& out,
          const std::optional<io::CheckpointDir>& resumed);

  // Runs the remaining steps and writes the results. False when a signal
  // stopped it before the end.
  bool run();

  // The first loss that is not finite, in words; empty: there is none. With
  // skip_nonfinite they count only where a member has no other.
  std::string failure() const;

  int64_t steps_done() const { return record_.step; }
  int64_t saved_step() const { return saved_step_; }

 private:
  void step();
  void first_step();
  void save();
  void write_results() const;
  bool skips_steps(size_t member) const;

  const StepJob& job_;
  train::Trainer& trainer_;
  runtime::Backend& backend_;
  const OutDir& out_;
  RunRecord record_;
  int64_t saved_step_ = 0;  // of the newest checkpoint; 0: none
};

}  // namespace braid::cli
