// Run: jobs that train, alone or as an array. The loop is Run::tick() in
// run.cpp; it owns neither a thread nor the device.
//
// Everything that is written goes through a Recorder, everything that is said
// through a Reporter. A job alone is an array without an axis of members.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "braid/data/joint_loader.h"
#include "braid/train/run/metrics.h"
#include "braid/train/run/norm_log.h"
#include "braid/train/run/recorder.h"
#include "braid/train/run/reporter.h"
#include "braid/train/run/run_context.h"

namespace braid::train {

class Run;

struct RunOptions {
  // Of a run that was created; of several jobs the folder that their array
  // keeps its checkpoints in. Empty: no files.
  std::filesystem::path out = {};
  bool create = false;  // create it, once everything else is known to fit
  bool writes = true;   // false: another process of the same run does
  // Of several jobs: asked before everything that is written; borrowed.
  const io::Fence* fence = nullptr;
  int64_t capacity = 0;  // of several jobs: how many train at once; 0: all
  std::function<bool()> stop = {};  // asked before every step
  // Called before every step; may stop, pause, promote and add members.
  std::function<void(Run&)> control = {};
  Listener* listener = nullptr;
  runtime::Backend* device = nullptr;  // borrowed; null: opens the jobs' own
  std::filesystem::path trace = {};    // a file for Perfetto; empty: none
  // Of several jobs: the report that the listener gets, with a row for each of
  // them and maybe for others; borrowed. Null: one of its own.
  ArrayReport* report = nullptr;
  // See ArrayOptions; borrowed.
  compile::ProgramCache* programs = nullptr;
  // Keeps other records than `out` says.
  std::unique_ptr<Recorder> recorder = {};
  // Of several jobs: see ArrayForm. All of them take as many steps.
  bool together = false;
  // Of a single one of a list: without an axis of members, so that it has the
  // bits of a job that is no list's.
  bool alone = false;
  // That programs follow; absent: as the jobs say.
  std::optional<compile::PlanRequest> plan = {};
  plan::Profile profile = {};           // of several jobs, see ArrayOptions
  compile::PassObserver observer = {};  // of what is compiled
  bool plans_again = true;              // once, when sizes turn out to be wrong
  bool logs_passes = false;  // a line for each pass, with a hash of its result
  // How many steps may be under way before the losses of the first are looked
  // at; absent: what the device is best with. At most kMostLag.
  std::optional<int64_t> lag = {};
};

// One of several jobs, with the folder of its own run; empty: no files.
struct RunMember {
  std::string name;
  const Job* job = nullptr;
  std::filesystem::path out = {};
  size_t number = 0;         // of its row in the report
  io::Hparams hparams = {};  // what tells it from the others, for TensorBoard
};

enum class Ending {
  kDone,
  kStoppedEarly,  // all of them by early stopping
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
  // When there are more than `capacity`, others enter as lanes become free.
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

  // Between two steps: leaves the device, so that others have its memory, and
  // goes on there or on another of its kind with as many cores. In between
  // nothing else may be called. What jobs that ended held is gone then, but for
  // their files. resume() throws when it does not fit there, and may be called
  // again. Any thread, one at a time.
  void suspend();
  void resume(runtime::Backend& device);

  Ending ending() const { return ending_; }  // once tick() was false

  // Between two steps, by the number of a member in members(), until tick() was
  // false. A job comes after all that wait; it is of the same kind as the
  // others.
  size_t add(const RunMember& member);
  // It ends here, with a checkpoint.
  void stop(size_t member);
  // It gives its lane up, with a checkpoint, until it is promoted.
  void pause(size_t member);
  // It goes on before all that wait, from where it paused. After the step
  // `until` it pauses again; 0: it trains to its end.
  void promote(size_t member, int64_t until = 0);

  // Whether there is nothing left to do: the folders hold the end of all runs.
  // Then run() leaves everything as it is.
  bool is_finished() const;
  const std::vector<std::unique_ptr<MemberRun>>& members() const {
    return run_.members;
  }
  // Not for several jobs that were finished before.
  Array& array() { return *run_.array; }
  runtime::Executables& programs() { return array().programs(); }
  int64_t num_parameters() const;  // of one member
  // Of an array in which all members trained at once: the mean seconds of its
  // steps so far, without evaluations.
  std::optional<double> step_s() const;
  double stepping_s() const { return full_steps_s_; }  // all of these
  const runtime::Backend& device() const { return *backend_; }
  bool shares_batches() const {
    return run_.array && run_.array->shares_batches();
  }

  // Of the first job.
  int64_t steps_done() const { return record().step; }
  const io::Scalars& evaluation() const {
    return run_.members[0]->evaluation();
  }
  const RunRecord& record() const { return run_.members[0]->record(); }

  // The present weights of a network of a job alone, by PyTorch names.
  void save(const std::filesystem::path& path, size_t network = 0) const;

 private:
  // --- how it begins (run_start.cpp)
  void open();
  void begin();
  void restore_end();
  void review_records();
  void compile_array();
  void enter(MemberRun& member);
  void start(MemberRun& member);
  void admit_waiting();
  void say_what_is_ready();
  void say_first_weights(MemberRun& member);
  void say_what_was_checked(const Job& job);
  bool can_share_batches() const;
  compile::PassObserver pass_observer();
  // --- steps
  void end(bool is_interrupted);
  void step();
  bool is_anything_due() const;
  void settle(int64_t lag);
  void prepare_loader();
  void check_finite(MemberRun& member, const Array::StepLoss& loss);
  void check_learned(MemberRun& member);
  void give_up(MemberRun& member, const std::string& text,
               std::string_view hint);
  MemberList look_after();
  void review_plan();
  void end_member(MemberRun& member, MemberState state);
  std::vector<double> rates_of(const MemberRun& member) const;
  std::vector<Array::Turn> norm_turns(
      const MemberList& training, const std::vector<Array::Turn>& turns) const;
  io::Scalars memory_values() const;
  // --- evaluation (run_eval.cpp)
  MemberList evaluate();
  void say_stopped(MemberRun& member);
  std::vector<MetricSums> evaluate_on(const MemberList& members);
  // --- what is kept
  void save(const MemberList& due);
  void retire();
  int64_t fitting_capacity(int64_t present, bool is_partial) const;
  void note_failure(const std::exception& error);
  void save_before_failure();
  void finish();

  RunOptions options_;
  std::unique_ptr<runtime::Backend> own_backend_;
  runtime::Backend* backend_ = nullptr;  // that, or one that is given
  RunContext run_;
  ArrayReport own_report_;
  std::unique_ptr<Reporter> reporter_;
  std::unique_ptr<Recorder> recorder_;
  std::deque<MemberRun*> queue_;               // those that wait
  std::unique_ptr<data::JointLoader> loader_;  // null: to be made anew
  std::map<std::pair<const data::Dataset*, int64_t>,
           std::unique_ptr<data::Loader>>
      eval_loaders_;  // by rows of a batch
  MemberRun::DataSums data_sums_;
  NormLog norms_;
  bool has_begun_ = false, has_ended_ = false;
  Ending ending_ = Ending::kDone;
  bool reads_data_ = false;  // what fails now leaves whole steps behind
  double full_steps_s_ = 0;  // of steps with all members
  int64_t full_steps_ = 0;
  int64_t lag_ = 0;
  double compile_s_ = 0;
};

}  // namespace braid::train
