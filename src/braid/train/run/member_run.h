// MemberRun: what a job has while it trains besides its lane in an array:
// where it is, its numbers, its files.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "braid/io/file/directory_lock.h"
#include "braid/train/array/array.h"
#include "braid/train/job/job.h"
#include "braid/train/run/listener.h"
#include "braid/train/run/run_files.h"
#include "braid/train/run/run_record.h"

namespace braid::train {

// "waiting", "training", "paused", "done", "stopped early", "stopped",
// "failed".
std::string_view member_state_name(MemberState state);
// Throws std::runtime_error for other texts.
MemberState parse_member_state(std::string_view name);

// One thread. Borrows the job, which outlives it.
class MemberRun {
 public:
  // `out` is the folder of a run that was created; empty: no files.
  MemberRun(const Job& job, std::string name, std::filesystem::path out);

  const Job& job() const { return job_; }
  const std::string& name() const { return name_; }
  const std::filesystem::path& out() const { return out_; }
  RunRecord& record() { return record_; }
  const RunRecord& record() const { return record_; }
  // Values of the last evaluation; empty before it.
  const io::Scalars& evaluation() const { return record_.evaluation; }

  MemberState state = MemberState::kWaiting;
  MemberId member = -1;      // in the array, while it trains
  int64_t former_lane = -1;  // that it had in a checkpoint; -1: none
  size_t number = 0;         // of its row in the report of an array
  int64_t until = 0;         // it pauses after that step; 0: it does not
  int64_t rows = 0;          // of its last batch
  int64_t saved_step = -1;   // of the newest checkpoint; -1: none
  std::string failure = {};  // why it failed
  bool writes = true;        // false: leaves its folder as it is
  // Asked before it writes; borrowed. Null: nobody else may take over.
  const io::Fence* fence = nullptr;
  io::Hparams hparams = {};  // what tells it from other jobs of its list

  // Takes the lock of its folder, which it holds while it lives.
  void lock();
  bool is_locked() const { return lock_.has_value(); }
  // It will go on from what a checkpoint says.
  void take(RunRecord record);
  // Steps after that one do not count.
  void go_back(int64_t step);
  // Whether there is nothing left to do after what the record says.
  bool is_at_end() const;
  bool is_stopped_early() const;
  bool is_eval_due() const;
  bool is_checkpoint_due() const;
  bool is_log_due() const { return is_log_due(record_.step); }
  bool is_log_due(int64_t step) const;  // after that one
  // Whether its metrics reach as far as the record; reads them.
  bool has_rows() const;
  // Whether a run has begun in its folder, before this one opens its files.
  bool has_begun() const;
  // Throws when the record cannot be of this job with these data.
  void check_record() const;

  // What is to be said of a record that was read.
  struct Note {
    LogLevel level;
    std::string text;
  };
  // Compares the job and the data with what the record says of them, and from
  // now on the record says how they are. Throws std::invalid_argument with all
  // keys that must not change, std::runtime_error for other data where the
  // job refuses them. `sums` keeps what was read, by dataset.
  using DataSums = std::map<const data::Dataset*, DataSum>;
  std::vector<Note> review_record(DataSums& sums);

  // The clock of its numbers goes on from the record's.
  void start();
  // The files of a run that goes on after the record's step.
  void open_files(io::Trace* trace);
  // Nothing is written any more; waits for what is being written.
  void close_files();
  RunFiles* files() { return files_.get(); }
  // A line for its log; kept until there are files.
  void log(const std::string& text);

  // Of a phase that ran; in order of steps.
  void add_loss(size_t phase, double loss);
  // The mean loss of a phase since the last line of metrics.
  std::optional<double> mean_loss(size_t phase) const;
  // For a person: that, or the last loss right after a line.
  double shown_loss(size_t phase) const;
  // Whether so many steps in a row were skipped that nothing is learned any
  // more: all of a log interval, ten at least.
  bool is_stuck(size_t phase) const;
  // The same at the end of the run, where half of all steps suffice.
  bool ended_stuck(size_t phase) const;
  // Whether all steps since the newest checkpoint were skipped: there is
  // nothing new to save.
  bool has_learned_nothing_new() const;
  // Steps that were skipped since the last line, in words; empty: none.
  std::string skip_words() const;
  // The mean losses since the last line, with the present rates by phase, and
  // other numbers.
  void log_losses(const std::vector<double>& rates,
                  const io::Scalars& more = {});
  // A step of so many rows, and how long it took.
  void add_speed(int64_t num_rows, double seconds);
  // Samples per second since the last such line, and these numbers.
  void log_system(const io::Scalars& memory);
  // Takes note of an evaluation; `raw` are the values of the weights
  // themselves where those of averaged ones were evaluated. Whether it is the
  // best so far, by what the job or what early stopping goes by.
  using Values = std::map<std::string, double>;
  bool observe(const Values& values, const Values& raw);
  BestReport best() const;
  // Steps whose checkpoints stay: the best, and that from which early stopping
  // counts.
  std::vector<int64_t> best_steps() const;
  double epoch() const;
  double elapsed() const;

 private:
  using Clock = std::chrono::steady_clock;

  void compare_config(std::vector<Note>& notes) const;
  void compare_data(std::string_view what, const std::string& on_change,
                    const DataSum& before, const DataSum& now,
                    std::vector<Note>& notes) const;
  void adapt_best();
  int64_t num_runs(size_t phase, int64_t after) const;

  const Job& job_;
  std::string name_;
  std::filesystem::path out_;
  std::optional<io::DirectoryLock> lock_;
  std::unique_ptr<RunFiles> files_;
  std::vector<std::string> unlogged_;  // said before there were files
  std::vector<double> last_losses_;    // by phase
  RunRecord record_;
  Clock::time_point start_ = Clock::now();
  double time_before_s_ = 0;
  // Since the last line of the system.
  double samples_ = 0, busy_s_ = 0;
};

}  // namespace braid::train
