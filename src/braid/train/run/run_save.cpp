// Checkpoints of a run. One job alone writes its own; an array writes one for
// all members, from which those of single members are published.
#include <nlohmann/json.hpp>

#include "braid/io/checkpoint/checkpoint.h"
#include "braid/train/run/run.h"
#include "braid/train/run/run_array_record.h"
#include "braid/train/run/run_checkpoint.h"

namespace braid::train {

void Run::save(const Members& due) {
  if (due.empty()) return;
  is_alone_ ? save_alone() : save_array(due);
}

void Run::save_alone() {
  MemberRun& member = *members_[0];
  if (!member.files() || member.saved_step == member.record().step) return;
  io::TraceSpan span(trace_.get(), "checkpoint", "copy", "copy to the host");
  member.record().time_s = member.elapsed();
  member.files()->sync();  // a checkpoint never knows more than the metrics
  member.files()->checkpoints().save(
      member.record().step,
      checkpoint_files(array_->state(), member.job().model().networks()),
      record_json(member.record()), member.best_steps());
  member.saved_step = member.record().step;
  say(LogLevel::kDebug,
      fmt::format("checkpoint of step {}", member.record().step));
}

void Run::save_array(const Members& due) {
  if (!checkpoints_) return;
  io::TraceSpan span(trace_.get(), "checkpoint", "copy", "copy to the host");
  std::vector<io::OwnedCheckpointFile> files;
  for (const auto& member : members_) {
    bool has_content =
        member->member >= 0 && member->state != MemberState::kFailed;
    if (member->files()) member->files()->sync();
    if (!has_content) continue;
    member->record().time_s = member->elapsed();
    for (io::OwnedCheckpointFile& file :
         checkpoint_files(array_->state(), member->job().model().networks(),
                          array_->place(member->member))) {
      file.name = file_prefix(*member) + file.name;
      files.push_back(std::move(file));
    }
  }
  std::vector<io::Publication> publications;
  for (MemberRun* member : due) {
    if (member->saved_step == member->record().step) continue;
    member->saved_step = member->record().step;
    publications.push_back(publication_of(*member));
  }
  checkpoints_->save(ticks_, std::move(files),
                     array_record_json(members_, *array_, ticks_, due), {},
                     std::move(publications));
  say(LogLevel::kDebug,
      fmt::format("checkpoint of the array, step {}", ticks_));
}

std::string Run::file_prefix(const MemberRun& member) const {
  for (size_t i = 0; i < members_.size(); ++i) {
    if (members_[i].get() == &member) return fmt::format("{}.", i);
  }
  return "";
}

io::Publication Run::publication_of(MemberRun& member) const {
  io::Publication publication{.root = checkpoints_path(member.out()),
                              .step = member.record().step,
                              .meta = std::make_shared<const nlohmann::json>(
                                  record_json(member.record())),
                              .keep = member.job().config().checkpoint.keep,
                              .best = member.best_steps()};
  for (const std::string& name :
       checkpoint_file_names(member.job().model().networks())) {
    publication.files[name] = file_prefix(member) + name;
  }
  return publication;
}

}  // namespace braid::train
