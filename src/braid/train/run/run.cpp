#include "braid/train/run/run.h"

#include <algorithm>
#include <cmath>

#include "braid/base/error.h"
#include "braid/base/process.h"
#include "braid/train/job/model_state.h"
#include "braid/train/run/run_words.h"

namespace braid::train {
namespace {

// The sign of a NaN says nothing.
std::string loss_text(double loss) {
  return std::isnan(loss) ? "nan" : fmt::format("{}", loss);
}

}  // namespace

Ending Run::run() {
  while (tick()) {
  }
  return ending_;
}

bool Run::tick() {
  if (has_ended_) return false;
  try {
    if (options_.control) options_.control(*this);
    retire();
    admit_waiting();
    MemberList training = run_.with_state(MemberState::kTraining);
    if (!has_begun_) {
      for (MemberRun* member : training) member->start();
      has_begun_ = true;
    }
    bool are_at_end = std::ranges::all_of(training, &MemberRun::is_at_end);
    bool is_interrupted = !are_at_end && options_.stop && options_.stop();
    if (are_at_end || is_interrupted) {
      end(is_interrupted);
      return false;
    }
    step();
    reporter_->note_trouble();
    save(look_after());
    retire();
    review_plan();
    return true;
  } catch (const std::exception& error) {
    has_ended_ = true;
    if (reads_data_) save_before_failure();
    note_failure(error);
    throw;
  }
}

void Run::suspend() {
  if (!run_.array) return;
  settle(0);
  for (MemberRun* member : run_.with_state(MemberState::kTraining)) {
    member->record().time_s = member->elapsed();
  }
  run_.array->suspend();
  backend_ = nullptr;
}

void Run::resume(runtime::Backend& device) {
  if (run_.array) run_.array->resume(device);
  backend_ = &device;
  for (MemberRun* member : run_.with_state(MemberState::kTraining)) {
    member->start();
  }
}

void Run::end(bool is_interrupted) {
  has_ended_ = true;
  settle(0);
  reporter_->on_table();
  save(run_.with_state(MemberState::kTraining));
  reporter_->say(LogLevel::kDebug, peak_words(*backend_));
  finish();
  bool are_early =
      run_.with_state(MemberState::kStoppedEarly).size() == run_.members.size();
  ending_ = is_interrupted ? Ending::kInterrupted
            : are_early    ? Ending::kStoppedEarly
                           : Ending::kDone;
}

void Run::finish() {
  recorder_->finish();
  for (const auto& member : run_.members) member->close_files();
  if (run_.trace) run_.trace->finish();
}

void Run::save(const MemberList& due) {
  if (!due.empty()) recorder_->save(run_, *reporter_, due);
}

// Data that cannot be read any more are no reason to lose the steps before.
void Run::save_before_failure() {
  reads_data_ = false;
  try {
    settle(0);
    MemberList begun;
    for (MemberRun* member : run_.with_state(MemberState::kTraining)) {
      if (member->record().step > 0) begun.push_back(member);
    }
    save(begun);
    recorder_->finish();
    for (MemberRun* member : begun) {
      if (!member->files()) continue;
      member->files()->checkpoints().finish();
      member->log(fmt::format("step {} is saved", member->record().step));
    }
  } catch (const std::exception&) {
    // The first error is the one to be told.
  }
}

// For those who read the log later; a full disk takes that line no more than
// others.
void Run::note_failure(const std::exception& error) {
  for (const auto& member : run_.members) {
    if (!member->files()) continue;
    try {
      member->files()->log(error.what());
    } catch (const std::exception&) {
      return;
    }
  }
}

// Sequences of batches that go on from where the members are.
void Run::prepare_loader() {
  if (loader_) return;
  const Array& array = *run_.array;
  size_t count =
      array.shares_batches() ? 1 : static_cast<size_t>(array.num_lanes());
  std::vector<data::LoaderPart> parts(count);
  for (MemberRun* member : run_.with_state(MemberState::kTraining)) {
    size_t lane = static_cast<size_t>(array.lane(member->member));
    parts[array.shares_batches() ? 0 : lane] = {member->job().data().train,
                                                member->job().loader_options(),
                                                member->record().position};
  }
  loader_ = std::make_unique<data::JointLoader>(std::move(parts));
}

// Every phase that is due, each member on its own batch. Those with a shorter
// one step after the others.
void Run::step() {
  io::TraceSpan span(run_.trace.get(), "compute", "step",
                     fmt::format("step {}", run_.ticks + 1));
  const std::vector<data::Batch>* batches = nullptr;
  auto called = std::chrono::steady_clock::now();
  {
    io::TraceSpan wait(run_.trace.get(), "load", "wait", "wait for data");
    reads_data_ = true;
    prepare_loader();
    batches = loader_->next();
    reads_data_ = false;
  }
  Array& array = *run_.array;
  auto batch_of = [&](const MemberRun& member) -> const data::Batch& {
    auto lane = static_cast<size_t>(array.lane(member.member));
    return (*batches)[array.shares_batches() ? 0 : lane];
  };
  MemberList training = run_.with_state(MemberState::kTraining);
  bool are_all = training.size() == run_.members.size();
  auto begin = std::chrono::steady_clock::now();
  size_t num_phases = training[0]->job().model().phases().size();
  for (size_t phase = 0; phase < num_phases; ++phase) {
    std::map<int64_t, std::vector<Array::Turn>, std::greater<>> turns;
    for (MemberRun* member : training) {
      int64_t step = member->record().step;
      if (step % member->job().model().phases()[phase].every != 0) continue;
      turns[batch_of(*member).rows].push_back({member->member, step});
    }
    for (const auto& [rows, of_rows] : turns) {
      std::vector<Array::Turn> watched = norm_turns(training, of_rows);
      if (!watched.empty()) norms_.watch(array, phase, watched);
      array.step(phase, of_rows, *batches);
      if (!watched.empty()) norms_.stop(array);
    }
  }
  ++run_.ticks;
  for (MemberRun* member : training) {
    ++member->record().step;
    member->record().position = batch_of(*member).next;
    member->rows = batch_of(*member).rows;
  }
  settle(is_anything_due() ? 0 : lag_);
  auto end = std::chrono::steady_clock::now();
  std::chrono::duration<double> took = end - begin, with_data = end - called;
  if (are_all) {
    full_steps_s_ += took.count();
    ++full_steps_;
  }
  for (MemberRun* member : training) {
    member->add_speed(member->rows, with_data.count());
  }
  reporter_->on_step();
}

// Those of members whose next line has norms.
std::vector<Array::Turn> Run::norm_turns(
    const MemberList& training, const std::vector<Array::Turn>& turns) const {
  std::vector<Array::Turn> watched;
  for (const Array::Turn& turn : turns) {
    auto of = std::ranges::find(training, turn.member, &MemberRun::member);
    bool is_watched = (*of)->job().config().log_norms.is_on() &&
                      (*of)->is_log_due(turn.step + 1);
    if (is_watched) watched.push_back(turn);
  }
  return watched;
}

io::Scalars Run::memory_values() const {
  return {{"device_bytes", static_cast<double>(run_.array->used_bytes())},
          {"device_peak_bytes", static_cast<double>(run_.array->peak_bytes())},
          {"process_bytes", static_cast<double>(process_bytes())},
          {"process_peak_bytes", static_cast<double>(process_peak_bytes())}};
}

// Whatever is due after a step goes by all losses up to it.
bool Run::is_anything_due() const {
  MemberList training = run_.with_state(MemberState::kTraining);
  return std::ranges::any_of(training, [](const MemberRun* member) {
    return member->is_log_due() || member->is_eval_due() ||
           member->is_checkpoint_due() || member->is_at_end() ||
           member->record().step == member->until;
  });
}

// Takes note of losses; those of the newest steps may not be known yet.
void Run::settle(int64_t lag) {
  if (!run_.array) return;
  for (const Array::StepLoss& loss : run_.array->take_losses(lag)) {
    auto of = std::ranges::find_if(run_.members, [&](const auto& member) {
      return member->member == loss.member;
    });
    // One that failed may have had further steps under way.
    if (of == run_.members.end()) continue;
    MemberRun& member = **of;
    if (member.state != MemberState::kTraining) continue;
    member.add_loss(loss.phase, loss.loss);
    recorder_->add_loss(member, loss.phase, loss.step, loss.loss);
    check_finite(member, loss);
  }
}

// With on_nan: skip the phase has left weights and their update's state as
// they were; a line of the log sums these steps up.
void Run::check_finite(MemberRun& member, const Array::StepLoss& loss) {
  if (std::isfinite(loss.loss)) return;
  const std::string& rule = member.job().config().on_nan;
  bool skips = rule == "skip";
  if (rule == "keep" || (skips && !member.is_stuck(loss.phase))) return;
  std::string text = fmt::format("the loss is {} at step {}",
                                 loss_text(loss.loss), loss.step + 1);
  // Steps after that one do not count.
  member.go_back(loss.step);
  if (!skips) {
    return give_up(
        member, text,
        "lower the learning rate, clip gradients, or set 'on_nan: skip'");
  }
  give_up(member,
          fmt::format("{}, and all of the last {} steps were skipped", text,
                      member.record().skips[loss.phase].in_a_row),
          "look for NaN in the data and in what the weights begin with");
}

// A run that does not end as it should: its last steps did not count.
void Run::check_learned(MemberRun& member) {
  for (size_t i = 0; i < member.record().skips.size(); ++i) {
    if (!member.ended_stuck(i)) continue;
    return give_up(
        member,
        fmt::format("the last {} of {} steps were skipped: their loss is not "
                    "finite",
                    member.record().skips[i].in_a_row, member.record().step),
        "look for NaN in the data and in what the weights begin with");
  }
}

// One of several jobs fails, and the others go on without it.
void Run::give_up(MemberRun& member, const std::string& text,
                  std::string_view hint) {
  recorder_->finish();
  if (member.files()) member.files()->checkpoints().finish();
  reporter_->on_failure(
      member,
      fmt::format("{}; {}", text,
                  member.saved_step > 0
                      ? fmt::format("step {} is saved", member.saved_step)
                      : "nothing was saved yet"),
      hint);
}

std::vector<double> Run::rates_of(const MemberRun& member) const {
  std::vector<double> rates;
  for (size_t i = 0; i < member.job().model().phases().size(); ++i) {
    rates.push_back(run_.array->rate(i, member.member));
  }
  return rates;
}

// What is due after a step; gives those that must be saved.
MemberList Run::look_after() {
  MemberList training = run_.with_state(MemberState::kTraining);
  for (MemberRun* member : training) {
    if (!member->is_log_due()) continue;
    std::string skipped = member->skip_words();
    if (!skipped.empty()) reporter_->say(*member, LogLevel::kWarning, skipped);
    member->log_losses(rates_of(*member), norms_.take(*member, *run_.array));
    if (member->job().config().log_system) {
      member->log_system(memory_values());
    }
  }
  MemberList due = evaluate();
  for (MemberRun* member : training) {
    bool ends = member->is_at_end();
    bool pauses = !ends && member->record().step == member->until;
    if (ends) check_learned(*member);
    if (member->state != MemberState::kTraining) continue;
    if (pauses) member->state = MemberState::kPaused;
    if (ends) {
      end_member(*member, member->is_stopped_early()
                              ? MemberState::kStoppedEarly
                              : MemberState::kDone);
    }
    bool is_due =
        ends || pauses ||
        (member->is_checkpoint_due() && !member->has_learned_nothing_new());
    if (is_due && std::ranges::find(due, member) == due.end()) {
      due.push_back(member);
    }
  }
  std::erase_if(due, [](const MemberRun* member) {
    return member->state == MemberState::kFailed;
  });
  return due;
}

void Run::end_member(MemberRun& member, MemberState state) {
  member.state = state;
  reporter_->on_state(member);
  // That it stopped early was said with its evaluation.
  if (state == MemberState::kStoppedEarly) return;
  member.log(fmt::format("{:6} after step {}", member_state_name(state),
                         member.record().step));
}

// Lanes of those that ended or pause are free.
void Run::retire() {
  for (const auto& member : run_.members) {
    bool is_gone =
        member->member >= 0 && member->state != MemberState::kTraining;
    if (!is_gone) continue;
    if (member->state == MemberState::kPaused) {
      recorder_->pause(*member, *run_.array);
      reporter_->on_state(*member);
    }
    run_.array->drop(member->member);
    member->member = -1;
    member->close_files();
    loader_.reset();
  }
  if (!run_.array) return;
  auto left =
      static_cast<int64_t>(run_.with_state(MemberState::kTraining).size());
  int64_t present = run_.array->capacity();
  int64_t fits = fitting_capacity(present, run_.array->is_partial());
  if (left == 0 || fits == present) return;
  run_.array->resize(fits);
  loader_.reset();
}

// Once: what calls take may go on to change with their data, and is charged in
// any case.
void Run::review_plan() {
  if (!options_.plans_again || !run_.array->took_more_scratch()) return;
  options_.plans_again = false;
  settle(0);
  Array::PlanReview review = run_.array->plan_again();
  if (review.mistakes.empty()) return;
  loader_.reset();
  reporter_->say(LogLevel::kWarning, review_words(review));
  if (!review.fits) return;
  reporter_->say(LogLevel::kInfo, plan_words(run_.array->programs().set()));
}

// How many lanes an array should have: members that differ fill all of them;
// others leave less than half of them free when nobody waits.
int64_t Run::fitting_capacity(int64_t present, bool is_partial) const {
  auto left =
      static_cast<int64_t>(run_.with_state(MemberState::kTraining).size());
  bool may_be_filled = options_.control ||
                       !run_.with_state(MemberState::kWaiting).empty() ||
                       !run_.with_state(MemberState::kPaused).empty();
  if (may_be_filled) return present;
  return is_partial || 2 * left <= present ? left : present;
}

size_t Run::add(const RunMember& member) {
  if (has_ended_) {
    fail_usage("[run] '{}' cannot be added: the run has ended", member.name);
  }
  size_t number = run_.members.size();
  run_.members.push_back(
      std::make_unique<MemberRun>(*member.job, member.name, member.out));
  MemberRun& added = *run_.members.back();
  added.number = options_.report ? member.number : number;
  added.hparams = member.hparams;
  if (!options_.report) own_report_.members.resize(run_.members.size());
  queue_.push_back(&added);
  reporter_->on_state(added);
  return number;
}

void Run::stop(size_t number) {
  MemberRun& member = *run_.members.at(number);
  if (has_ended(member.state)) return;
  settle(0);
  std::erase(queue_, &member);
  bool has_content = member.state == MemberState::kTraining;
  if (has_ended(member.state)) return;  // its loss was not finite
  end_member(member, MemberState::kStopped);
  if (has_content) save({&member});
}

void Run::pause(size_t number) {
  MemberRun& member = *run_.members.at(number);
  if (member.state == MemberState::kPaused) return;
  settle(0);
  if (member.state == MemberState::kWaiting) std::erase(queue_, &member);
  if (has_ended(member.state)) return;
  bool has_content = member.state == MemberState::kTraining;
  member.state = MemberState::kPaused;
  reporter_->on_state(member);
  if (has_content) save({&member});
}

void Run::promote(size_t number, int64_t until) {
  MemberRun& member = *run_.members.at(number);
  if (has_ended(member.state)) {
    fail_usage("[run] '{}' has ended and cannot be promoted", member.name());
  }
  member.until = until;
  if (member.state == MemberState::kTraining) return;
  retire();  // it may hold its lane still
  std::erase(queue_, &member);
  member.state = MemberState::kWaiting;
  queue_.push_front(&member);
  reporter_->on_state(member);
}

bool Run::is_finished() const { return run_.is_over(); }

void Run::save(const std::filesystem::path& path, size_t network) const {
  const JobNetwork& n = run_.members[0]->job().model().networks().at(network);
  io::write_safetensors(
      path, member_state(std::as_const(*run_.array).state(), 0, n.prefix())
                .tensors());
}

int64_t Run::num_parameters() const {
  return train::num_parameters(std::as_const(*run_.array).state());
}

std::optional<double> Run::step_s() const {
  if (full_steps_ == 0) return std::nullopt;
  return full_steps_s_ / static_cast<double>(full_steps_);
}

}  // namespace braid::train
