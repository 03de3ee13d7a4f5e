// Run: jobs that train, alone or as an array. The loop is Run::train() in
// run.cpp.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "braid/data/joint_loader.h"
#include "braid/train/run/member_run.h"

namespace braid::train {

struct RunOptions {
  // Of a run that was created; of several jobs the folder that their array
  // keeps its checkpoints in. Empty: no files.
  std::filesystem::path out = {};
  bool create = false;   // create it, once everything else is known to fit
  int64_t capacity = 0;  // of several jobs: how many train at once; 0: all
  std::function<bool()> stop = {};  // asked after every step
  Listener* listener = nullptr;
  runtime::Backend* device = nullptr;  // borrowed; null: opens the jobs' own
  std::filesystem::path trace = {};    // a file for Perfetto; empty: none
  // Of several jobs: the report that the listener gets, with a row for each of
  // them and maybe for others; borrowed. Null: one of its own.
  ArrayReport* report = nullptr;
  plan::Profile profile = {};           // of several jobs, see ArrayOptions
  compile::PassObserver observer = {};  // of what is compiled
  bool logs_passes = false;  // a line for each pass, with a hash of its result
};

// One of several jobs, with the folder of its own run; empty: no files.
struct RunMember {
  std::string name;
  const Job* job = nullptr;
  std::filesystem::path out = {};
  size_t number = 0;  // of its row in the report
};

enum class Ending {
  kDone,
  kStoppedEarly,  // by early stopping; of several jobs: never
  kInterrupted,   // by RunOptions::stop
};

// One thread. Borrows the jobs, which outlive it.
class Run {
 public:
  // Prepares all programs; goes on from the newest checkpoint in `out`, or
  // starts. Holds the lock of `out` while it lives. Throws when memory does not
  // suffice, files cannot be written or another process writes them.
  Run(const Job& job, RunOptions options);

  // The same for several jobs with one signature, which train as an array.
  // When there are more than `capacity`, others enter as places become free.
  // Each has its own folder, as if it had been trained alone, and goes on from
  // what is there when that is more than the array's checkpoint has.
  Run(const std::vector<RunMember>& members, RunOptions options);
  ~Run();

  // Trains to the end. Each job ends with a checkpoint, unless its loss is not
  // finite: then one alone throws, and one of several fails while the others
  // go on.
  Ending run();

  // The same a step at a time, so that others may have the device and the
  // thread in between: one step of all jobs that train, and what is due after
  // it. False: all have ended, and everything is written. After it threw, the
  // run is over.
  bool tick();
  Ending ending() const { return ending_; }  // once tick() was false

  // Whether there is nothing left to do: the folders hold the end of all runs.
  // Then run() leaves everything as it is.
  bool is_finished() const;
  const std::vector<std::unique_ptr<MemberRun>>& members() const {
    return members_;
  }
  Array& array() { return *array_; }
  runtime::Executables& programs() { return array_->programs(); }
  int64_t num_parameters() const;  // of one member
  // Of an array in which all members trained at once: the mean seconds of its
  // steps so far, without evaluations.
  std::optional<double> step_s() const;
  bool shares_batches() const { return array_ && array_->shares_batches(); }

  // Of the first job.
  int64_t steps_done() const { return record().step; }
  const io::Scalars& evaluation() const { return members_[0]->evaluation(); }
  const RunRecord& record() const { return members_[0]->record(); }

  // The present weights of a network of a job alone, by PyTorch names.
  void save(const std::filesystem::path& path, size_t network = 0) const;

 private:
  using Members = std::vector<MemberRun*>;

  void open();
  void end(bool is_interrupted);
  void note_failure(const std::exception& error);
  void save_before_failure();
  void note_listener();
  // --- how it begins (run_start.cpp)
  void create_folders();
  void restore_alone();
  void restore_array();
  void review_records();
  void restore_own_folders();
  void read_array_record(const io::CheckpointDir& checkpoint);
  void make_array();
  void seat(MemberRun& member);
  void enter_waiting();
  void say_what_is_ready();
  void say_what_was_checked(const Job& job);
  void say_what_begins_anew();
  bool can_share_batches() const;
  // --- steps
  Members with_state(MemberState state) const;
  void step();
  void prepare_loader();
  void check_finite(MemberRun& member, size_t phase);
  void check_learned(MemberRun& member);
  void give_up(MemberRun& member, const std::string& text,
               std::string_view hint);
  void fail(MemberRun& member, const std::string& text);
  void report();
  void report_step(MemberRun& member) const;
  void report_state(MemberRun& member);
  Members look_after();
  Members evaluate();
  void say_stopped(MemberRun& member);
  std::vector<MemberRun::Values> evaluate_on(const Members& members);
  std::vector<double> rates_of(const MemberRun& member) const;
  // --- what is kept
  void save(const Members& due);
  void save_alone();
  void save_array(const Members& due);
  io::Publication publication_of(MemberRun& member) const;
  std::string file_prefix(const MemberRun& member) const;
  void retire();
  int64_t fitting_capacity(int64_t present, bool is_partial) const;
  void finish();
  compile::PassObserver pass_observer();
  void say(LogLevel level, const std::string& text);
  void say(MemberRun& member, LogLevel level, const std::string& text);
  // What several members have in common is said once; empty: nothing.
  void say_each(
      LogLevel level,
      const std::function<std::vector<std::string>(const MemberRun&)>& words);

  RunOptions options_;
  bool is_alone_ = true;
  std::vector<std::unique_ptr<MemberRun>> members_;
  std::unique_ptr<io::Trace> trace_;
  std::unique_ptr<runtime::Backend> own_backend_;
  runtime::Backend* backend_ = nullptr;  // that, or one that is given
  std::unique_ptr<Array> array_;
  std::optional<io::DirectoryLock> lock_;              // of an array's folder
  std::unique_ptr<io::CheckpointWriter> checkpoints_;  // of an array
  // Where members that go on find their content.
  struct Source {
    io::CheckpointDir checkpoint;
    std::string prefix;
  };
  std::map<const MemberRun*, Source> sources_;
  std::map<const MemberRun*, int64_t> places_;  // that members had
  std::unique_ptr<data::JointLoader> loader_;   // null: to be made anew
  std::map<std::pair<const data::Dataset*, int64_t>,
           std::unique_ptr<data::Loader>>
      eval_loaders_;  // by rows of a batch
  MemberRun::DataSums data_sums_;
  ArrayReport own_report_;
  ArrayReport* report_ = nullptr;
  bool has_begun_ = false, has_ended_ = false;
  Ending ending_ = Ending::kDone;
  bool reads_data_ = false;  // what fails now leaves whole steps behind
  bool is_listener_noted_ = false;
  double full_steps_s_ = 0;  // of steps with all members
  int64_t full_steps_ = 0;
  int64_t ticks_ = 0;  // steps of the array
  int64_t capacity_ = 0;
  double compile_s_ = 0;
};

}  // namespace braid::train
