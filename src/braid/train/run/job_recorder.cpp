// Records of a run without files, and of one job in a folder of its own.
#include <map>
#include <nlohmann/json.hpp>

#include "braid/io/checkpoint/checkpoint.h"
#include "braid/train/run/recorder.h"
#include "braid/train/run/run_checkpoint.h"

namespace braid::train {
namespace {

class NoRecorder : public Recorder {
 public:
  void restore(MemberRun& member, Array& array) override {
    auto kept = paused_.find(&member);
    if (kept == paused_.end()) return;
    array.restore(member.member, kept->second);
    paused_.erase(kept);
  }
  void save(RunContext&, const Reporter&, const MemberList&) override {}
  void pause(MemberRun& member, Array& array) override {
    paused_[&member] = array.content(member.member);
  }

 protected:
  bool is_kept(const MemberRun& member) const {
    return paused_.contains(&member);
  }

 private:
  std::map<const MemberRun*, MemberContent> paused_;
};

class ReadingRecorder : public NoRecorder {
 public:
  explicit ReadingRecorder(std::unique_ptr<Recorder> other)
      : other_(std::move(other)) {}

  void read(RunContext& run, const Reporter& reporter) override {
    for (const auto& member : run.members) member->writes = false;
    other_->read(run, reporter);
  }
  void restore(MemberRun& member, Array& array) override {
    is_kept(member) ? NoRecorder::restore(member, array)
                    : other_->restore(member, array);
  }

 private:
  std::unique_ptr<Recorder> other_;
};

class JobRecorder : public Recorder {
 public:
  explicit JobRecorder(bool create) : creates_(create) {}

  void lock(RunContext& run) override {
    if (!creates_) run.members[0]->lock();
  }

  void read(RunContext& run, const Reporter& reporter) override {
    if (creates_) return;
    MemberRun& member = *run.members[0];
    io::NewestCheckpoint found =
        newest_checkpoint(checkpoints_path(member.out()));
    for (const std::string& warning : found.warnings) {
      reporter.say(LogLevel::kWarning, warning);
    }
    if (!found.checkpoint) return;
    member.take(read_record(found.checkpoint->meta()));
    source_ = *found.checkpoint;
  }

  void tidy(RunContext& run) override {
    if (!creates_) tidy_checkpoints(*run.members[0]);
  }

  void create(RunContext& run) override {
    if (!creates_) return;
    MemberRun& member = *run.members[0];
    create_run(member.out(), member.job().config(),
               member.job().data().train->fields());
    member.lock();
  }

  void restore(MemberRun& member, Array& array) override {
    if (!source_) return;
    restore_state(*source_, array.state(), member.job().model().networks());
  }

  void save(RunContext& run, const Reporter& reporter,
            const MemberList& due) override {
    MemberRun& member = *due[0];
    if (!member.files() || member.saved_step == member.record().step) return;
    io::TraceSpan span(run.trace.get(), "checkpoint", "copy",
                       "copy to the host");
    member.record().time_s = member.elapsed();
    member.files()->sync();  // a checkpoint never knows more than the metrics
    member.files()->checkpoints().save(
        member.record().step,
        checkpoint_files(run.array->state(), member.job().model().networks()),
        record_json(member.record()), member.best_steps());
    member.saved_step = member.record().step;
    reporter.say(LogLevel::kDebug,
                 fmt::format("checkpoint of step {}", member.record().step));
  }

  void pause(MemberRun& member, Array&) override {
    member.files()->checkpoints().finish();
    source_ =
        io::find_step(checkpoints_path(member.out()), member.record().step);
  }

 private:
  bool creates_;
  std::optional<io::CheckpointDir> source_;
};

}  // namespace

std::unique_ptr<Recorder> record_nothing() {
  return std::make_unique<NoRecorder>();
}

std::unique_ptr<Recorder> record_job(bool create) {
  return std::make_unique<JobRecorder>(create);
}

std::unique_ptr<Recorder> only_read(std::unique_ptr<Recorder> other) {
  return std::make_unique<ReadingRecorder>(std::move(other));
}

}  // namespace braid::train
