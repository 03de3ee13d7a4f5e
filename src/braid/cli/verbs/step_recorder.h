// StepRecorder: what a `step` run leaves: the gradients of the first step, the
// results of the last, and checkpoints between them. A checkpoint keeps the
// losses so far and the arguments that made them, so that only the same run
// goes on.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "braid/cli/out_dir.h"
#include "braid/cli/verbs/step_job.h"
#include "braid/io/checkpoint/checkpoint_writer.h"
#include "braid/train/run/recorder.h"

namespace braid::cli {

// Seconds of a step: without the first one, where there are others, because
// that one makes what they find, and without the writing of files.
class StepClock {
 public:
  void begin(int64_t step) {
    began_ = Clock::now();
    began_step_ = step;
    is_first_ = true;
  }
  // The loss of a step is known; so many are over, of so many in all.
  void note(int64_t step, int64_t num_steps) {
    bool was_first = std::exchange(is_first_, false);
    if (!was_first || step >= num_steps) return;
    began_ = Clock::now();
    began_step_ = step;
  }
  void leave_out(const std::function<void()>& writing) {
    Clock::time_point before = Clock::now();
    writing();
    began_ += Clock::now() - before;
  }
  double seconds(int64_t num_steps) const {
    std::chrono::duration<double> took = Clock::now() - began_;
    return took.count() /
           static_cast<double>(std::max<int64_t>(num_steps - began_step_, 1));
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point began_ = {};
  int64_t began_step_ = 0;
  bool is_first_ = false;
};

class StepRecorder : public train::Recorder {
 public:
  // Borrows the job and the directory. `on_ready` is called when nothing but
  // the directory is missing.
  StepRecorder(const StepJob& job, OutDir& out, std::function<void()> on_ready);

  void read(train::RunContext& run, const train::Reporter&) override;
  void tidy(train::RunContext& run) override;
  void create(train::RunContext& run) override;
  void restore(train::MemberRun& member, train::Array& array) override;
  void add_loss(const train::MemberRun& member, size_t phase, int64_t step,
                double loss) override;
  void save(train::RunContext& run, const train::Reporter&,
            const train::MemberList& due) override;
  void pause(train::MemberRun&, train::Array&) override {}
  void finish() override { checkpoints_.finish(); }

  const std::vector<std::vector<double>>& losses() const { return losses_; }
  int64_t saved_step() const { return saved_step_; }
  // The first loss that is not finite, in words; empty: there is none. Where
  // steps are left out they count only if a member has no other.
  std::string failure() const;

 private:
  void tap_gradients(train::Array& array);
  void write_gradients();
  void write_results(train::Array& array) const;

  const StepJob& job_;
  OutDir& out_;
  std::function<void()> on_ready_;
  std::optional<io::CheckpointDir> source_;  // to go on from
  io::CheckpointWriter checkpoints_;
  std::vector<std::vector<double>> losses_;  // by member, then step
  int64_t saved_step_ = 0;                   // of the newest checkpoint
  StepClock clock_;
  runtime::Executor* tapped_ = nullptr;  // until the first step is over
  // By parameter, of all members; in which order they came depends on the plan.
  std::map<SlotId, std::pair<Slot, std::vector<std::byte>>> gradients_;
};

}  // namespace braid::cli
