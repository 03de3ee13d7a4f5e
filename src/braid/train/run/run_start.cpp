// How a run begins: folders, the newest checkpoint if there is one, programs,
// and members in their places.
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "braid/base/error.h"
#include "braid/io/checkpoint/checkpoint.h"
#include "braid/train/run/run.h"
#include "braid/train/run/run_array_record.h"
#include "braid/train/run/run_checkpoint.h"
#include "braid/train/run/run_words.h"

namespace braid::train {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return took.count();
}

// The newest whole checkpoint; throws when all that there are are damaged.
io::NewestCheckpoint newest(const std::filesystem::path& root) {
  io::NewestCheckpoint found = io::newest_complete(root);
  if (found.checkpoint || found.warnings.empty()) return found;
  fail_world(
      "[resume] no checkpoint is whole\n  {}\n"
      "HINT: delete '{}' to start over",
      fmt::join(found.warnings, "\n  "), root.string());
}

}  // namespace

Run::Run(const Job& job, RunOptions options) : options_(std::move(options)) {
  members_.push_back(std::make_unique<MemberRun>(job, "", options_.out));
  open();
  make_array();
  MemberRun& member = *members_[0];
  member.member = array_->add(job);
  member.state = MemberState::kTraining;
  create_folders();
  restore_alone();
}

Run::Run(const std::vector<RunMember>& members, RunOptions options)
    : options_(std::move(options)), is_alone_(false) {
  if (members.empty()) fail_usage("[train] there is no job to train");
  report_ = options_.report ? options_.report : &own_report_;
  for (size_t i = 0; i < members.size(); ++i) {
    const RunMember& m = members[i];
    members_.push_back(std::make_unique<MemberRun>(*m.job, m.name, m.out));
    members_[i]->number = options_.report ? m.number : i;
  }
  if (!options_.report) own_report_.members.resize(members.size());
  auto count = static_cast<int64_t>(members.size());
  capacity_ =
      options_.capacity > 0 ? std::min(options_.capacity, count) : count;
  open();
  create_folders();
  restore_array();
  for (const auto& member : members_) report_state(*member);
  if (is_finished()) return;
  make_array();
  for (MemberRun* member : with_state(MemberState::kTraining)) seat(*member);
  say_what_is_ready();
  enter_waiting();
}

Run::~Run() = default;

void Run::open() {
  const Job& job = members_[0]->job();
  if (!options_.trace.empty()) {
    trace_ = std::make_unique<io::Trace>(options_.trace);
  }
  if (!options_.device) own_backend_ = job.open_device();
  backend_ = options_.device ? options_.device : own_backend_.get();
  double open_s = 0;
  for (const auto& member : members_) open_s += member->job().open_s();
  say(LogLevel::kDebug,
      fmt::format("data and model were opened in {:.2f} s", open_s));
}

void Run::create_folders() {
  if (options_.out.empty()) return;
  for (const auto& member : members_) {
    bool is_new = is_alone_ ? options_.create : !holds_run(member->out());
    if (is_new) create_run(member->out(), member->job().config());
    member->lock();
  }
  if (is_alone_) return;
  std::filesystem::create_directories(options_.out);
  lock_.emplace(options_.out);
  io::remove_temporary_files(options_.out);
  checkpoints_ = std::make_unique<io::CheckpointWriter>(
      checkpoints_path(options_.out), 1, trace_.get());
}

void Run::make_array() {
  auto begin = std::chrono::steady_clock::now();
  std::vector<const Job*> kinds;
  for (const auto& member : members_) {
    bool is_over = member->state != MemberState::kWaiting &&
                   member->state != MemberState::kTraining;
    if (!is_over) kinds.push_back(&member->job());
  }
  // A checkpoint is from before the array became smaller.
  bool goes_on = !with_state(MemberState::kTraining).empty() && !is_alone_;
  int64_t before = capacity_;
  if (goes_on) capacity_ = fitting_capacity(capacity_, !are_alike(kinds));
  if (capacity_ != before) places_.clear();
  array_ = std::make_unique<Array>(
      kinds, *backend_,
      ArrayOptions{.form = {.capacity = capacity_,
                            .shares_batches = can_share_batches()},
                   .profile = options_.profile,
                   .observer = pass_observer()});
  compile_s_ = seconds_since(begin);
}

compile::PassObserver Run::pass_observer() {
  if (!options_.logs_passes) return options_.observer;
  return [this](const compile::PassResult& result) {
    say(LogLevel::kDebug, pass_words(result));
    if (options_.observer) options_.observer(result);
  };
}

// Members that start at the same place of the same data and never wait see
// the same batches as long as they train.
bool Run::can_share_batches() const {
  if (is_alone_) return false;
  const MemberRun* first = nullptr;
  for (const auto& member : members_) {
    bool is_over = member->state != MemberState::kWaiting &&
                   member->state != MemberState::kTraining;
    if (is_over) continue;
    if (!first) first = member.get();
    if (member->job().data().train != first->job().data().train ||
        member->job().loader_options() != first->job().loader_options() ||
        member->record().position != first->record().position) {
      return false;
    }
  }
  return static_cast<int64_t>(members_.size()) <= capacity_ ||
         with_state(MemberState::kWaiting).empty();
}

// A member enters: as its job says, or as it was.
void Run::seat(MemberRun& member) {
  auto place = places_.find(&member);
  bool has_place =
      place != places_.end() && array_->is_free(place->second, member.job());
  member.member = has_place ? array_->add(member.job(), place->second)
                            : array_->add(member.job());
  places_.erase(&member);
  member.state = MemberState::kTraining;
  auto source = sources_.find(&member);
  if (source != sources_.end()) {
    restore_state(source->second.checkpoint, array_->state(),
                  member.job().model().networks(), array_->place(member.member),
                  source->second.prefix);
  }
  member.open_files(trace_.get());
  member.start();
  if (member.record().step > 0) {
    say(member, LogLevel::kInfo,
        fmt::format("going on after step {}", member.record().step));
  }
  loader_.reset();
  report_state(member);
}

void Run::enter_waiting() {
  if (is_alone_) return;
  for (MemberRun* member : with_state(MemberState::kWaiting)) {
    if (array_->size() == array_->num_places()) return;
    seat(*member);
  }
}

void Run::say_what_is_ready() {
  const Job& job = members_[0]->job();
  say_each(LogLevel::kWarning,
           [](const MemberRun& member) { return job_warnings(member.job()); });
  say(LogLevel::kInfo, data_words(job));
  say(LogLevel::kDebug, field_words(*job.data().train));
  say_what_was_checked(job);
  say(LogLevel::kInfo, model_words(job, array_->programs()));
  std::set<std::string> shared;
  for (const auto& member : members_) {
    shared.insert(member->job().model().shared_words());
  }
  for (const std::string& words : shared) {
    if (!words.empty()) say(LogLevel::kWarning, words);
  }
  if (members_.size() > 1) {
    say(LogLevel::kInfo, array_words(*array_, members_.size()));
  }
  say(LogLevel::kDebug,
      fmt::format("{} programs were compiled in {:.2f} s, for {} threads",
                  array_->programs().size(), compile_s_, job.threads()));
  say(LogLevel::kDebug, plan_words(array_->programs().plan()));
  say(LogLevel::kDebug, memory_words(array_->programs()));
  say_each(LogLevel::kInfo,
           [](const MemberRun& member) { return judge_words(member.job()); });
}

// Of those whose folders tell of a run, but hold nothing of it.
void Run::say_what_begins_anew() {
  Members anew;
  for (const auto& member : members_) {
    bool is_lost = member->record().step == 0 && member->has_begun() &&
                   member->state != MemberState::kFailed;
    if (is_lost) anew.push_back(member.get());
  }
  if (anew.empty()) return;
  for (MemberRun* member : anew) {
    member->log("no checkpoint was saved: the run begins anew");
  }
  if (!options_.listener) return;
  options_.listener->on_message(
      LogLevel::kInfo,
      is_alone_ ? "no checkpoint was saved: the run begins anew"
                : fmt::format(
                      "no checkpoint was saved of {}: {}",
                      anew.size() == 1 ? anew[0]->name()
                                       : fmt::format("{} jobs", anew.size()),
                      anew.size() == 1 ? "it begins anew" : "they begin anew"));
}

// Before anything of a checkpoint is used.
void Run::review_records() {
  if (options_.out.empty()) return;
  std::map<const MemberRun*, std::vector<MemberRun::Note>> notes;
  for (const auto& member : members_) {
    notes[member.get()] = member->review_record(data_sums_);
    member->check_record();
  }
  for (LogLevel level : {LogLevel::kWarning, LogLevel::kInfo}) {
    say_each(level, [&](const MemberRun& member) {
      std::vector<std::string> texts;
      for (const MemberRun::Note& note : notes[&member]) {
        if (note.level == level) texts.push_back(note.text);
      }
      return texts;
    });
  }
}

void Run::say_what_was_checked(const Job& job) {
  const Job::DataChecks& checks = job.data_checks();
  if (checks.train.samples > 0) {
    say(LogLevel::kDebug, "looked at " + checked_text(checks.train));
  }
  if (checks.eval.samples > 0) {
    say(LogLevel::kDebug,
        "looked at " + checked_text(checks.eval) + " to evaluate");
  }
  if (checks.train.note.empty()) return;
  say(LogLevel::kWarning,
      "steps with numbers that are not finite will be skipped: " +
          checks.train.note);
}

void Run::restore_alone() {
  MemberRun& member = *members_[0];
  if (options_.out.empty()) return say_what_is_ready();
  std::filesystem::path root = checkpoints_path(options_.out);
  io::NewestCheckpoint found = newest(root);
  if (found.checkpoint) {
    member.record() = read_record(found.checkpoint->meta());
    member.saved_step = member.record().step;
  }
  review_records();
  say_what_begins_anew();
  if (found.checkpoint) {
    restore_state(*found.checkpoint, array_->state(),
                  member.job().model().networks());
  }
  member.start();
  io::remove_litter(root);
  bool is_over = member.is_at_end() && found.checkpoint;
  if (is_over) {
    member.state = member.is_stopped_early() ? MemberState::kStoppedEarly
                                             : MemberState::kDone;
    io::keep_last(root, member.job().config().checkpoint.keep,
                  member.best_steps());
  } else {
    member.open_files(trace_.get());
    say_what_is_ready();
  }
  for (const std::string& warning : found.warnings) {
    say(LogLevel::kWarning, warning);
  }
  if (found.checkpoint && !is_over) {
    say(LogLevel::kInfo,
        fmt::format("going on after step {}", member.record().step));
  }
}

// Without a whole checkpoint of the array each member goes on from its own.
void Run::restore_array() {
  if (options_.out.empty()) return;
  std::filesystem::path root = checkpoints_path(options_.out);
  io::NewestCheckpoint found = io::newest_complete(root);
  io::remove_litter(root);
  for (const std::string& warning : found.warnings) {
    say(LogLevel::kWarning, warning);
  }
  if (found.checkpoint) read_array_record(*found.checkpoint);
  restore_own_folders();
  review_records();
  say_what_begins_anew();
  for (const auto& member : members_) {
    // Nothing will be published any more that would delete old ones.
    if (!member->is_at_end() || member->out().empty()) continue;
    io::keep_last(checkpoints_path(member->out()),
                  member->job().config().checkpoint.keep, member->best_steps());
  }
}

void Run::read_array_record(const io::CheckpointDir& checkpoint) {
  ArrayRecord record = train::read_array_record(checkpoint.meta());
  bool fits = record.members.size() == members_.size();
  for (size_t i = 0; fits && i < members_.size(); ++i) {
    fits = record.members[i].name == members_[i]->name();
  }
  if (!fits) {
    fail_world("[resume] '{}' is of other jobs", checkpoint.path.string());
  }
  ticks_ = record.ticks;
  capacity_ = record.capacity;
  for (size_t i = 0; i < members_.size(); ++i) {
    MemberRun& member = *members_[i];
    member.state = record.members[i].state;
    member.failure = record.members[i].failure;
    member.record() = record.members[i].record;
    if (record.members[i].place >= 0) {
      places_[&member] = record.members[i].place;
      sources_[&member] = {checkpoint, file_prefix(member)};
    }
    if (!record.members[i].is_due) continue;
    member.saved_step = member.record().step;
    io::Publication p = publication_of(member);
    std::vector<io::CheckpointFile> files;
    for (const auto& [there, here] : p.files) {
      files.push_back({there, {}, checkpoint.file(here)});
    }
    io::save_checkpoint(p.root, p.step, files, *p.meta);
  }
}

// A member may have gone on by itself: the same step has the same state, so
// what is further counts. One that went on from a step before the array's and
// was killed has cut back its metrics, so its own counts too.
void Run::restore_own_folders() {
  for (const auto& member : members_) {
    if (member->out().empty()) continue;
    std::filesystem::path root = checkpoints_path(member->out());
    io::remove_litter(root);
    bool is_begun = member->record().step > 0;
    io::NewestCheckpoint found =
        is_begun ? io::newest_complete(root) : newest(root);
    for (const std::string& warning : found.warnings) {
      say(*member, LogLevel::kWarning, warning);
    }
    const auto& own = found.checkpoint;
    if (!own) continue;
    // One that ended has no content in the array, and may train longer now.
    bool goes_on = (member->state == MemberState::kDone ||
                    member->state == MemberState::kStoppedEarly) &&
                   !member->is_at_end();
    bool is_known = own->step <= member->record().step && member->has_rows();
    if (is_known && !goes_on) continue;
    member->record() = read_record(own->meta());
    member->saved_step = own->step;
    sources_[member.get()] = {*own, ""};
    member->state = !member->is_at_end()         ? MemberState::kWaiting
                    : member->is_stopped_early() ? MemberState::kStoppedEarly
                                                 : MemberState::kDone;
  }
}

}  // namespace braid::train
