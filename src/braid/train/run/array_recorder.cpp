// Records of several jobs: one checkpoint of the array, from which those of
// its members are published in their own folders.
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "braid/base/error.h"
#include "braid/io/checkpoint/checkpoint.h"
#include "braid/io/file/directory_lock.h"
#include "braid/train/run/recorder.h"
#include "braid/train/run/run_array_record.h"
#include "braid/train/run/run_checkpoint.h"

namespace braid::train {
namespace {

class ArrayRecorder : public Recorder {
 public:
  explicit ArrayRecorder(std::filesystem::path out) : out_(std::move(out)) {}

  void lock(RunContext& run) override;
  void read(RunContext& run, const Reporter& reporter) override;
  void tidy(RunContext& run) override;
  void create(RunContext& run) override;
  void restore(MemberRun& member, Array& array) override;
  void open(MemberRun& member) override { open_folder(member); }
  void save(RunContext& run, const Reporter& reporter,
            const MemberList& due) override;
  void pause(MemberRun& member, Array& array) override;
  void finish() override {
    if (checkpoints_) checkpoints_->finish();
  }

 private:
  // Where members that go on find their content.
  struct Source {
    io::CheckpointDir checkpoint;
    std::string prefix;
  };

  void open_folder(MemberRun& member);
  void read_array(RunContext& run, const io::CheckpointDir& checkpoint);
  void read_own_folder(MemberRun& member, const Reporter& reporter);

  void take_lock();

  std::filesystem::path out_;
  const io::Fence* fence_ = nullptr;
  std::optional<io::DirectoryLock> lock_;
  std::unique_ptr<io::CheckpointWriter> checkpoints_;
  std::map<const MemberRun*, Source> sources_;
  // What members' own folders should have had from the newest checkpoint.
  struct Unpublished {
    MemberRun& member;
    io::CheckpointDir checkpoint;
    io::Publication publication;
  };
  std::vector<Unpublished> unpublished_;
};

// Files of a member in the array's checkpoint begin with its number.
std::string file_prefix(const RunContext& run, const MemberRun& member) {
  for (size_t i = 0; i < run.members.size(); ++i) {
    if (run.members[i].get() == &member) return fmt::format("{}.", i);
  }
  return "";
}

io::Publication publication_of(const RunContext& run, const MemberRun& member) {
  io::Publication publication{.root = checkpoints_path(member.out()),
                              .step = member.record().step,
                              .meta = std::make_shared<const nlohmann::json>(
                                  record_json(member.record())),
                              .keep = member.job().config().checkpoint.keep,
                              .best = member.best_steps()};
  for (const std::string& name :
       checkpoint_file_names(member.job().model().networks())) {
    publication.files[name] = file_prefix(run, member) + name;
  }
  return publication;
}

void ArrayRecorder::take_lock() {
  using Kind = io::DirectoryLock::Kind;
  lock_.emplace(out_, fence_ ? Kind::kShared : Kind::kAlone);
}

void ArrayRecorder::lock(RunContext& run) {
  fence_ = run.members[0]->fence;
  for (const auto& member : run.members) {
    if (holds_run(member->out())) member->lock();
  }
  std::error_code ignored;  // locking tells what is wrong
  if (!std::filesystem::exists(out_, ignored)) return;
  take_lock();
  io::remove_temporary_files(out_);
}

// Without a whole checkpoint of the array each member goes on from its own.
void ArrayRecorder::read(RunContext& run, const Reporter& reporter) {
  io::NewestCheckpoint found = io::newest_complete(checkpoints_path(out_));
  for (const std::string& warning : found.warnings) {
    reporter.say(LogLevel::kWarning, warning);
  }
  if (found.checkpoint) {
    io::check_lease(*found.checkpoint, fence_);
    read_array(run, *found.checkpoint);
  }
  for (const auto& member : run.members) read_own_folder(*member, reporter);
}

// Jobs that came later than the checkpoint wait.
void ArrayRecorder::read_array(RunContext& run,
                               const io::CheckpointDir& checkpoint) {
  ArrayRecord record = read_array_record(checkpoint.meta());
  bool fits = record.members.size() <= run.members.size();
  for (size_t i = 0; fits && i < record.members.size(); ++i) {
    fits = record.members[i].name == run.members[i]->name();
  }
  if (!fits) {
    fail_world("[resume] '{}' is of other jobs", checkpoint.path.string());
  }
  run.ticks = record.ticks;
  run.capacity = record.capacity;
  for (size_t i = 0; i < record.members.size(); ++i) {
    MemberRun& member = *run.members[i];
    member.state = record.members[i].state;
    member.failure = record.members[i].failure;
    member.record() = record.members[i].record;
    member.former_lane = record.members[i].lane;
    if (member.former_lane >= 0) {
      sources_[&member] = {checkpoint, file_prefix(run, member)};
    }
    if (!record.members[i].is_due) continue;
    member.saved_step = member.record().step;
    unpublished_.push_back({member, checkpoint, publication_of(run, member)});
  }
}

// A member may have gone on by itself: the same step has the same state, so
// what is further counts. One that went on from a step before the array's and
// was killed has cut back its metrics, so its own counts too.
void ArrayRecorder::read_own_folder(MemberRun& member,
                                    const Reporter& reporter) {
  if (!holds_run(member.out())) return;
  std::filesystem::path root = checkpoints_path(member.out());
  bool is_begun = member.record().step > 0;
  io::NewestCheckpoint found =
      is_begun ? io::newest_complete(root) : newest_checkpoint(root);
  for (const std::string& warning : found.warnings) {
    reporter.say(member, LogLevel::kWarning, warning);
  }
  const auto& own = found.checkpoint;
  if (!own) return;
  // One that ended has no content in the array, and may train longer now.
  bool goes_on = (member.state == MemberState::kDone ||
                  member.state == MemberState::kStoppedEarly) &&
                 !member.is_at_end();
  bool is_known = own->step <= member.record().step && member.has_rows();
  // One that pauses has its content there.
  if (is_known && member.state == MemberState::kPaused) {
    sources_[&member] = {*own, ""};
  }
  if (is_known && !goes_on) return;
  member.take(read_record(own->meta()));
  sources_[&member] = {*own, ""};
}

// A process that was killed may have left members without what is theirs.
void ArrayRecorder::tidy(RunContext& run) {
  if (fence_) fence_->check();
  io::remove_litter(checkpoints_path(out_));
  for (const auto& [member, checkpoint, p] : unpublished_) {
    open_folder(member);
    io::remove_litter(p.root);
    std::vector<io::CheckpointFile> files;
    for (const auto& [there, here] : p.files) {
      files.push_back({there, {}, checkpoint.file(here)});
    }
    io::save_checkpoint(p.root, p.step, files, *p.meta);
  }
  unpublished_.clear();
  for (const auto& member : run.members) {
    if (holds_run(member->out())) tidy_checkpoints(*member);
  }
}

void ArrayRecorder::create(RunContext& run) {
  if (fence_) fence_->check();
  for (const auto& member : run.members) open_folder(*member);
  if (!lock_) {
    std::filesystem::create_directories(out_);
    take_lock();
  }
  checkpoints_ = std::make_unique<io::CheckpointWriter>(
      checkpoints_path(out_), 1, run.trace.get(), fence_);
}

void ArrayRecorder::open_folder(MemberRun& member) {
  if (member.is_locked()) return;
  if (!holds_run(member.out())) {
    create_run(member.out(), member.job().config());
  }
  member.lock();
}

void ArrayRecorder::restore(MemberRun& member, Array& array) {
  auto source = sources_.find(&member);
  if (source == sources_.end()) return;
  restore_state(source->second.checkpoint, array.state(),
                member.job().model().networks(), array.lane(member.member),
                source->second.prefix);
}

void ArrayRecorder::save(RunContext& run, const Reporter& reporter,
                         const MemberList& due) {
  io::TraceSpan span(run.trace.get(), "checkpoint", "copy", "copy to the host");
  std::vector<io::OwnedCheckpointFile> files;
  for (const auto& member : run.members) {
    bool has_content =
        member->member >= 0 && member->state != MemberState::kFailed;
    if (member->files()) member->files()->sync();
    if (!has_content) continue;
    member->record().time_s = member->elapsed();
    for (io::OwnedCheckpointFile& file :
         checkpoint_files(run.array->state(), member->job().model().networks(),
                          run.array->lane(member->member))) {
      file.name = file_prefix(run, *member) + file.name;
      files.push_back(std::move(file));
    }
  }
  std::vector<io::Publication> publications;
  for (MemberRun* member : due) {
    if (member->saved_step == member->record().step) continue;
    member->saved_step = member->record().step;
    publications.push_back(publication_of(run, *member));
  }
  checkpoints_->save(run.ticks, std::move(files),
                     array_record_json(run.members, *run.array, run.ticks, due),
                     {}, std::move(publications));
  reporter.say(LogLevel::kDebug,
               fmt::format("checkpoint of the array, step {}", run.ticks));
}

void ArrayRecorder::pause(MemberRun& member, Array&) {
  finish();
  sources_[&member] = {
      io::find_step(checkpoints_path(member.out()), member.record().step), ""};
}

}  // namespace

std::unique_ptr<Recorder> record_array(std::filesystem::path out) {
  return std::make_unique<ArrayRecorder>(std::move(out));
}

}  // namespace braid::train
