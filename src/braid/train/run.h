// Run: a job that trains. The loop is Run::train() in run.cpp.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "braid/io/directory_lock.h"
#include "braid/train/batch_feed.h"
#include "braid/train/job.h"
#include "braid/train/learning_rates.h"
#include "braid/train/listener.h"
#include "braid/train/run_files.h"
#include "braid/train/run_record.h"

namespace braid::train {

struct RunOptions {
  std::filesystem::path out = {};  // of a run that was created; empty: no files
  bool create = false;  // create it, once everything else is known to fit
  std::function<bool()> stop = {};  // asked after every step
  Listener* listener = nullptr;
  std::filesystem::path trace = {};  // a file for Perfetto; empty: none
};

enum class Ending {
  kDone,
  kStoppedEarly,  // by early stopping
  kInterrupted,   // by RunOptions::stop
};

// One thread. Borrows the job, which outlives it.
class Run {
 public:
  // Prepares all programs; goes on from the newest checkpoint in `out`, or
  // starts. Holds the lock of `out` while it lives. Throws when memory does not
  // suffice, files cannot be written or another process writes them.
  Run(const Job& job, RunOptions options);
  ~Run();

  // Trains to the end. A run always ends with a checkpoint, unless the loss
  // is not finite: then it throws and saves nothing more.
  Ending run();

  // Whether there is nothing left to do: `out` holds the end of the run. Then
  // run() leaves everything as it is.
  bool is_finished() const;
  int64_t steps_done() const { return record_.step; }
  // Values of the last evaluation; empty before it.
  const io::Scalars& evaluation() const { return evaluation_; }
  const RunRecord& record() const { return record_; }
  int64_t num_parameters() const;
  Programs& programs() { return *programs_; }

  // The present weights of a network, by PyTorch names.
  void save(const std::filesystem::path& path, size_t network = 0) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct PhaseRun {
    std::vector<std::unique_ptr<BatchFeed>> feeds;  // full, rest
    std::unique_ptr<LearningRates> rates;           // null: constant
    double loss = 0;
  };

  Ending train();
  void note_failure(const std::exception& error);
  void prepare_phases();
  void start_or_restore();
  void restore_newest();
  void open_files();
  void check_record() const;
  std::optional<int64_t> best_step() const;
  void step();
  void run_phase(size_t phase, const data::Batch& batch);
  void check_finite(size_t phase);
  void report(const data::Batch& batch);
  void log_losses();
  void evaluate();
  std::map<std::string, double> evaluate_all();
  void swap_averages();
  bool observe(const std::map<std::string, double>& values);
  void save_checkpoint();
  void say(LogLevel level, const std::string& text);
  void say_what_is_ready();
  double epoch() const;
  double elapsed() const;
  bool is_eval_due() const;
  bool is_stopped_early() const;
  double rate_of(size_t phase) const;

  const Job& job_;
  RunOptions options_;
  std::unique_ptr<io::Trace> trace_;
  std::unique_ptr<runtime::Backend> backend_;
  std::unique_ptr<Programs> programs_;
  std::vector<PhaseRun> phases_;
  std::unique_ptr<data::Loader> loader_, eval_loader_;
  std::unique_ptr<BatchFeed> eval_feed_, eval_rest_feed_;
  std::optional<io::DirectoryLock> lock_;
  std::unique_ptr<RunFiles> files_;    // null without `out`, or at the end
  std::vector<std::string> unlogged_;  // said before there were files
  RunRecord record_;
  io::Scalars evaluation_;
  int64_t saved_step_ = -1;
  Clock::time_point start_;
  double time_before_s_ = 0, compile_s_ = 0;
};

}  // namespace braid::train
