// How a run begins: folders, the newest checkpoint if there is one, programs,
// and members in their lanes.
#include <algorithm>
#include <iterator>
#include <set>

#include "braid/base/error.h"
#include "braid/train/job/job_plan.h"
#include "braid/train/run/run.h"
#include "braid/train/run/run_words.h"

namespace braid::train {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return took.count();
}

bool has_batches_of(const MemberRun& a, const MemberRun& b) {
  return a.job().data().train == b.job().data().train &&
         a.job().loader_options() == b.job().loader_options() &&
         a.record().position == b.record().position;
}

}  // namespace

Run::Run(const Job& job, RunOptions options) : options_(std::move(options)) {
  run_.members.push_back(std::make_unique<MemberRun>(job, "", options_.out));
  reporter_ = report_job(run_, options_.listener);
  recorder_ =
      options_.out.empty() ? record_nothing() : record_job(options_.create);
  begin();
}

Run::Run(const std::vector<RunMember>& members, RunOptions options)
    : options_(std::move(options)) {
  if (members.empty()) fail_usage("[train] there is no job to train");
  for (size_t i = 0; i < members.size(); ++i) {
    const RunMember& m = members[i];
    run_.members.push_back(std::make_unique<MemberRun>(*m.job, m.name, m.out));
    run_.members[i]->number = options_.report ? m.number : i;
    run_.members[i]->hparams = m.hparams;
    run_.members[i]->fence = options_.fence;
  }
  own_report_.members.resize(members.size());
  auto count = static_cast<int64_t>(members.size());
  run_.capacity =
      options_.capacity > 0 ? std::min(options_.capacity, count) : count;
  if (options_.alone && count == 1) run_.capacity = 0;
  reporter_ = report_list(run_, options_.listener,
                          options_.report ? *options_.report : own_report_);
  recorder_ =
      options_.out.empty() ? record_nothing() : record_array(options_.out);
  begin();
}

Run::~Run() = default;

void Run::begin() {
  if (options_.recorder) recorder_ = std::move(options_.recorder);
  if (!options_.writes) recorder_ = only_read(std::move(recorder_));
  open();
  recorder_->lock(run_);
  recorder_->read(run_, *reporter_);
  review_records();
  recorder_->tidy(run_);
  for (const auto& member : run_.members) reporter_->on_state(*member);
  if (run_.is_over()) return restore_end();
  for (MemberState state : {MemberState::kTraining, MemberState::kWaiting}) {
    std::ranges::copy(run_.with_state(state), std::back_inserter(queue_));
  }
  admit_waiting();
}

// What a job alone ended with can be had still.
void Run::restore_end() {
  if (run_.capacity > 0 || options_.alone) return;
  compile_array();
  MemberRun& member = *run_.members[0];
  member.member = run_.array->add(member.job());
  recorder_->restore(member, *run_.array);
}

void Run::open() {
  const Job& job = run_.members[0]->job();
  if (!options_.trace.empty()) {
    run_.trace = std::make_unique<io::Trace>(options_.trace);
  }
  if (!options_.device) own_backend_ = job.open_device();
  backend_ = options_.device ? options_.device : own_backend_.get();
  lag_ = options_.lag.value_or(backend_->lag());
  if (lag_ < 0 || lag_ > runtime::kMostLag) {
    fail_usage("[run] losses can lag 0 to {} steps behind, not {}",
               runtime::kMostLag, lag_);
  }
  double open_s = 0;
  for (const auto& member : run_.members) open_s += member->job().open_s();
  reporter_->say(LogLevel::kDebug,
                 fmt::format("data and model were opened in {:.2f} s", open_s));
}

void Run::compile_array() {
  auto begin = std::chrono::steady_clock::now();
  std::vector<const Job*> kinds;
  for (const auto& member : run_.members) {
    bool is_alone = run_.capacity == 0;
    if (is_alone || !has_ended(member->state)) kinds.push_back(&member->job());
  }
  // A checkpoint is from before the array became smaller.
  int64_t before = run_.capacity;
  if (!run_.with_state(MemberState::kTraining).empty()) {
    run_.capacity = fitting_capacity(run_.capacity, !are_alike(kinds));
  }
  if (run_.capacity != before) {
    for (const auto& member : run_.members) member->former_lane = -1;
  }
  run_.array = std::make_unique<Array>(
      kinds, *backend_,
      ArrayOptions{
          .form = {.capacity = run_.capacity,
                   .shares_batches = can_share_batches(),
                   .together = options_.together},
          .plan = options_.plan.value_or(plan_request(kinds[0]->config().plan)),
          .profile = options_.profile,
          .observer = pass_observer(),
          .programs = options_.programs});
  compile_s_ = seconds_since(begin);
}

compile::PassObserver Run::pass_observer() {
  if (!options_.logs_passes) return options_.observer;
  return [this](const compile::PassResult& result) {
    reporter_->say(LogLevel::kDebug, pass_words(result));
    if (options_.observer) options_.observer(result);
  };
}

// Members that start at the same place of the same data and never wait see
// the same batches as long as they train.
bool Run::can_share_batches() const {
  if (run_.capacity == 0 || options_.control) return false;
  const MemberRun* first = nullptr;
  for (const auto& member : run_.members) {
    if (has_ended(member->state)) continue;
    if (!first) first = member.get();
    if (!has_batches_of(*member, *first)) return false;
  }
  return static_cast<int64_t>(run_.members.size()) <= run_.capacity ||
         run_.with_state(MemberState::kWaiting).empty();
}

// A member gets a lane: as its job says, or as it was. Nothing is written.
void Run::enter(MemberRun& member) {
  Array& array = *run_.array;
  if (array.shares_batches()) {
    for (const MemberRun* other : run_.with_state(MemberState::kTraining)) {
      bool is_in = other->member >= 0;
      if (is_in && !has_batches_of(member, *other)) array.part_batches();
    }
  }
  bool has_lane = array.is_free(member.former_lane, member.job());
  member.member = has_lane ? array.add(member.job(), member.former_lane)
                           : array.add(member.job());
  member.former_lane = -1;
  member.state = MemberState::kTraining;
  recorder_->restore(member, array);
}

void Run::start(MemberRun& member) {
  recorder_->open(member);
  member.open_files(run_.trace.get());
  member.start();
  if (member.record().step > 0) {
    reporter_->say(member, LogLevel::kInfo,
                   fmt::format("going on after step {}", member.record().step));
  } else {
    say_first_weights(member);
  }
  loader_.reset();
  reporter_->on_state(member);
}

void Run::say_first_weights(MemberRun& member) {
  const JobModel& model = member.job().model();
  for (const JobModel::InitNote& note : model.init_notes(
           run_.array->programs().state().slots(), member.member)) {
    reporter_->say(member, LogLevel::kInfo, note.summary);
    for (const std::string& line : note.details) {
      reporter_->say(member, LogLevel::kDebug, line);
    }
  }
}

// The first ones bring the programs along. Files are made once everything else
// is known to work.
void Run::admit_waiting() {
  if (queue_.empty()) return;
  bool is_first = !run_.array;
  if (is_first) compile_array();
  MemberList entered;
  while (!queue_.empty() && run_.array->size() < run_.array->num_lanes()) {
    entered.push_back(queue_.front());
    queue_.pop_front();
    enter(*entered.back());
  }
  if (is_first) {
    recorder_->create(run_);
    say_what_is_ready();
  }
  for (MemberRun* member : entered) start(*member);
}

void Run::say_what_is_ready() {
  const Job& job = run_.members[0]->job();
  reporter_->say_each(LogLevel::kWarning, [](const MemberRun& member) {
    return job_warnings(member.job());
  });
  reporter_->say(LogLevel::kInfo, data_words(job));
  reporter_->say(LogLevel::kDebug, field_words(*job.data().train));
  say_what_was_checked(job);
  reporter_->say(LogLevel::kInfo, model_words(job, run_.array->programs()));
  std::set<std::string> shared;
  for (const auto& member : run_.members) {
    shared.insert(member->job().model().shared_words());
  }
  for (const std::string& words : shared) {
    if (!words.empty()) reporter_->say(LogLevel::kWarning, words);
  }
  if (run_.members.size() > 1) {
    reporter_->say(LogLevel::kInfo,
                   array_words(*run_.array, run_.members.size()));
  }
  reporter_->say(
      LogLevel::kDebug,
      fmt::format("{} programs were compiled in {:.2f} s, for {} threads",
                  run_.array->programs().size(), compile_s_, job.threads()));
  const compile::ProgramSet& set = run_.array->programs().set();
  reporter_->say(saves_memory(set) ? LogLevel::kInfo : LogLevel::kDebug,
                 plan_words(set));
  reporter_->say(LogLevel::kDebug, memory_words(run_.array->programs()));
  reporter_->say_each(LogLevel::kInfo, [](const MemberRun& member) {
    return judge_words(member.job());
  });
}

// Before anything of a checkpoint is used.
void Run::review_records() {
  std::map<const MemberRun*, std::vector<MemberRun::Note>> notes;
  for (const auto& member : run_.members) {
    if (member->out().empty()) continue;
    notes[member.get()] = member->review_record(data_sums_);
    member->check_record();
  }
  for (LogLevel level : {LogLevel::kWarning, LogLevel::kInfo}) {
    reporter_->say_each(level, [&](const MemberRun& member) {
      std::vector<std::string> texts;
      for (const MemberRun::Note& note : notes[&member]) {
        if (note.level == level) texts.push_back(note.text);
      }
      return texts;
    });
  }
  MemberList anew;
  for (const auto& member : run_.members) {
    bool is_lost = member->record().step == 0 && member->has_begun() &&
                   member->state != MemberState::kFailed;
    if (is_lost) anew.push_back(member.get());
    bool is_over = member->state == MemberState::kWaiting &&
                   member->record().step > 0 && member->is_at_end();
    if (!is_over) continue;
    member->state = member->is_stopped_early() ? MemberState::kStoppedEarly
                                               : MemberState::kDone;
  }
  reporter_->say_begins_anew(anew);
}

void Run::say_what_was_checked(const Job& job) {
  const Job::DataChecks& checks = job.data_checks();
  if (checks.train.samples > 0) {
    reporter_->say(LogLevel::kDebug, "looked at " + checked_text(checks.train));
  }
  if (checks.eval.samples > 0) {
    reporter_->say(LogLevel::kDebug,
                   "looked at " + checked_text(checks.eval) + " to evaluate");
  }
  if (checks.train.note.empty()) return;
  reporter_->say(LogLevel::kWarning,
                 "steps with numbers that are not finite will be skipped: " +
                     checks.train.note);
}

}  // namespace braid::train
