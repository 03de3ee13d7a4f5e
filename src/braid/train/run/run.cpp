#include "braid/train/run/run.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "braid/base/error.h"
#include "braid/train/job/model_state.h"
#include "braid/train/run/run_checkpoint.h"
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
  Members training = with_state(MemberState::kTraining);
  if (!has_begun_) {
    for (MemberRun* member : training) member->start();
    has_begun_ = true;
  }
  try {
    bool is_interrupted = !training.empty() && options_.stop && options_.stop();
    if (training.empty() || is_interrupted) {
      end(is_interrupted);
      return false;
    }
    step();
    note_listener();
    save(look_after());
    retire();
    enter_waiting();
    return true;
  } catch (const std::exception& error) {
    has_ended_ = true;
    if (reads_data_) save_before_failure();
    note_failure(error);
    throw;
  }
}

void Run::end(bool is_interrupted) {
  has_ended_ = true;
  if (!is_alone_ && options_.listener) options_.listener->on_array(*report_);
  save(with_state(MemberState::kTraining));
  say(LogLevel::kDebug, peak_words(*backend_));
  finish();
  bool is_early = is_alone_ && members_[0]->state == MemberState::kStoppedEarly;
  ending_ = is_early         ? Ending::kStoppedEarly
            : is_interrupted ? Ending::kInterrupted
                             : Ending::kDone;
}

void Run::finish() {
  if (checkpoints_) checkpoints_->finish();
  for (const auto& member : members_) member->close_files();
  if (trace_) trace_->finish();
}

// Data that cannot be read any more are no reason to lose the steps before.
void Run::save_before_failure() {
  reads_data_ = false;
  Members begun;
  for (MemberRun* member : with_state(MemberState::kTraining)) {
    if (member->record().step > 0) begun.push_back(member);
  }
  try {
    save(begun);
    if (checkpoints_) checkpoints_->finish();
    for (MemberRun* member : begun) {
      if (!member->files()) continue;
      member->files()->checkpoints().finish();
      member->log(fmt::format("step {} is saved", member->record().step));
    }
  } catch (const std::exception&) {
    // What was first is what is told.
  }
}

// What is not shown any more is still in the log.
void Run::note_listener() {
  if (!options_.listener || is_listener_noted_) return;
  std::string trouble = options_.listener->trouble();
  if (trouble.empty()) return;
  is_listener_noted_ = true;
  for (const auto& member : members_) member->log(trouble);
}

// For who reads the log later; a full disk does not take that line either.
void Run::note_failure(const std::exception& error) {
  for (const auto& member : members_) {
    if (!member->files()) continue;
    try {
      member->files()->log(error.what());
    } catch (const std::exception&) {
      return;
    }
  }
}

Run::Members Run::with_state(MemberState state) const {
  Members found;
  for (const auto& member : members_) {
    if (member->state == state) found.push_back(member.get());
  }
  return found;
}

// Sequences of batches that go on from where the members are.
void Run::prepare_loader() {
  if (loader_) return;
  size_t count =
      array_->shares_batches() ? 1 : static_cast<size_t>(array_->num_places());
  std::vector<data::LoaderPart> parts(count);
  for (MemberRun* member : with_state(MemberState::kTraining)) {
    size_t place = static_cast<size_t>(array_->place(member->member));
    parts[array_->shares_batches() ? 0 : place] = {
        member->job().data().train, member->job().loader_options(),
        member->record().position};
  }
  loader_ = std::make_unique<data::JointLoader>(std::move(parts));
}

// Every phase that is due, each member on its own batch. Those with a shorter
// one step after the others.
void Run::step() {
  io::TraceSpan span(trace_.get(), "compute", "step",
                     fmt::format("step {}", ticks_ + 1));
  const std::vector<data::Batch>* batches = nullptr;
  {
    io::TraceSpan wait(trace_.get(), "load", "wait", "wait for data");
    reads_data_ = true;
    prepare_loader();
    batches = loader_->next();
    reads_data_ = false;
  }
  auto batch_of = [&](const MemberRun& member) -> const data::Batch& {
    auto place = static_cast<size_t>(array_->place(member.member));
    return (*batches)[array_->shares_batches() ? 0 : place];
  };
  Members training = with_state(MemberState::kTraining);
  auto begin = std::chrono::steady_clock::now();
  size_t num_phases = members_[0]->job().model().phases().size();
  for (size_t phase = 0; phase < num_phases; ++phase) {
    std::map<int64_t, std::vector<Array::Turn>, std::greater<>> turns;
    Members stepped;
    for (MemberRun* member : training) {
      int64_t step = member->record().step;
      if (member->state != MemberState::kTraining) continue;
      if (step % member->job().model().phases()[phase].every != 0) continue;
      turns[batch_of(*member).rows].push_back({member->member, step});
      stepped.push_back(member);
    }
    for (const auto& [rows, of_rows] : turns) {
      array_->step(phase, of_rows, *batches);
    }
    for (MemberRun* member : stepped) {
      member->add_loss(phase, array_->loss(phase, member->member));
      check_finite(*member, phase);
    }
  }
  ++ticks_;
  if (training.size() == members_.size()) {
    std::chrono::duration<double> took =
        std::chrono::steady_clock::now() - begin;
    full_steps_s_ += took.count();
    ++full_steps_;
  }
  for (MemberRun* member : with_state(MemberState::kTraining)) {
    ++member->record().step;
    member->record().position = batch_of(*member).next;
    member->rows = batch_of(*member).rows;
  }
  report();
}

// With on_nan: skip the phase has left weights and their update's state as
// they were; a line of the log sums these steps up.
void Run::check_finite(MemberRun& member, size_t phase) {
  double loss = array_->loss(phase, member.member);
  int64_t step = member.record().step + 1;
  if (std::isfinite(loss)) return;
  if (member.job().config().on_nan != "skip") {
    return give_up(
        member, fmt::format("the loss is {} at step {}", loss_text(loss), step),
        "lower the learning rate, clip gradients, or set 'on_nan: skip'");
  }
  if (!member.is_stuck(phase)) return;
  give_up(
      member,
      fmt::format("the loss is {} at step {}, and all of the last {} steps "
                  "were skipped",
                  loss_text(loss), step, member.record().skips[phase].in_a_row),
      "look for NaN in the data and in what the weights begin with");
}

// A run that does not end as it should: its last steps did not count.
void Run::check_learned(MemberRun& member) {
  for (size_t i = 0; i < member.record().skips.size(); ++i) {
    if (!member.is_stuck(i)) continue;
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
  if (checkpoints_) checkpoints_->finish();
  if (member.files()) member.files()->checkpoints().finish();
  std::string words = fmt::format(
      "{}; {}", text,
      member.saved_step > 0 ? fmt::format("step {} is saved", member.saved_step)
                            : "nothing was saved yet");
  if (!is_alone_) return fail(member, words);
  fail_world("[train] {}\nHINT: {}", words, hint);
}

// The others go on without it.
void Run::fail(MemberRun& member, const std::string& text) {
  member.state = MemberState::kFailed;
  member.failure = text;
  report_state(member);
  say(member, LogLevel::kError, text);
}

std::vector<double> Run::rates_of(const MemberRun& member) const {
  std::vector<double> rates;
  for (size_t i = 0; i < member.job().model().phases().size(); ++i) {
    rates.push_back(array_->rate(i, member.member));
  }
  return rates;
}

// What is due after a step; gives those that must be saved.
Run::Members Run::look_after() {
  Members training = with_state(MemberState::kTraining);
  for (MemberRun* member : training) {
    if (!member->is_log_due()) continue;
    std::string skipped = member->skip_words();
    if (!skipped.empty()) say(*member, LogLevel::kWarning, skipped);
    member->log_losses(rates_of(*member));
  }
  Members due = evaluate();
  for (MemberRun* member : training) {
    bool ends = member->is_at_end();
    if (ends) check_learned(*member);
    if (member->state != MemberState::kTraining) continue;
    if (ends) {
      member->state = member->is_stopped_early() ? MemberState::kStoppedEarly
                                                 : MemberState::kDone;
      report_state(*member);
      // That it stopped early was said with its evaluation.
      if (member->state == MemberState::kDone) {
        member->log(fmt::format("done   after step {}", member->record().step));
      }
    }
    bool is_due = ends || (member->is_checkpoint_due() &&
                           !member->has_learned_nothing_new());
    if (is_due && std::ranges::find(due, member) == due.end()) {
      due.push_back(member);
    }
  }
  std::erase_if(due, [](const MemberRun* member) {
    return member->state == MemberState::kFailed;
  });
  return due;
}

// Places of those that ended are free.
void Run::retire() {
  if (is_alone_) return;
  for (const auto& member : members_) {
    bool is_gone =
        member->member >= 0 && member->state != MemberState::kTraining;
    if (!is_gone) continue;
    array_->drop(member->member);
    member->member = -1;
    member->close_files();
    loader_.reset();
  }
  auto left = static_cast<int64_t>(with_state(MemberState::kTraining).size());
  int64_t fits = fitting_capacity(array_->capacity(), array_->is_partial());
  if (left == 0 || fits == array_->capacity()) return;
  array_->resize(fits);
  loader_.reset();
}

// How many places an array should have: members that differ fill all of them;
// others leave less than half of them free when nobody waits.
int64_t Run::fitting_capacity(int64_t present, bool is_partial) const {
  auto left = static_cast<int64_t>(with_state(MemberState::kTraining).size());
  if (!with_state(MemberState::kWaiting).empty()) return present;
  return is_partial || 2 * left <= present ? left : present;
}

bool Run::is_finished() const {
  return std::ranges::all_of(members_, [](const auto& member) {
    return member->state != MemberState::kWaiting &&
           member->state != MemberState::kTraining;
  });
}

void Run::save(const std::filesystem::path& path, size_t network) const {
  const JobNetwork& n = members_[0]->job().model().networks().at(network);
  io::write_safetensors(
      path,
      member_state(std::as_const(*array_).state(), 0, n.prefix()).tensors());
}

int64_t Run::num_parameters() const {
  return train::num_parameters(std::as_const(*array_).state());
}

void Run::say(LogLevel level, const std::string& text) {
  for (const auto& member : members_) member->log(text);
  if (options_.listener) options_.listener->on_message(level, text);
}

void Run::say_each(
    LogLevel level,
    const std::function<std::vector<std::string>(const MemberRun&)>& words) {
  std::map<std::string, Members> speakers;
  for (const auto& member : members_) {
    for (const std::string& text : words(*member)) {
      speakers[text].push_back(member.get());
    }
  }
  for (const auto& [text, members] : speakers) {
    for (MemberRun* member : members) member->log(text);
    if (!options_.listener) continue;
    std::string who;
    if (members.size() < members_.size()) {
      who = members[0]->name();
      if (members.size() > 1) {
        who += fmt::format(" and {} more", members.size() - 1);
      }
      who += ": ";
    }
    options_.listener->on_message(level, who + text);
  }
}

void Run::say(MemberRun& member, LogLevel level, const std::string& text) {
  if (is_alone_) return say(level, text);
  member.log(text);
  if (!options_.listener) return;
  options_.listener->on_message(level,
                                fmt::format("{}: {}", member.name(), text));
}

void Run::report() {
  if (!options_.listener) return;
  if (is_alone_) return report_step(*members_[0]);
  for (MemberRun* member : with_state(MemberState::kTraining)) {
    MemberReport& row = report_->members[member->number];
    row.step = member->record().step;
    row.epoch = member->epoch();
    row.loss = member->mean_loss(0).value_or(array_->loss(0, member->member));
    row.lr = array_->rate(0, member->member);
    ++report_->model_steps;
    report_->samples += member->rows;
  }
  options_.listener->on_array(*report_);
}

// Of a job alone.
void Run::report_step(MemberRun& member) const {
  const Job& job = member.job();
  StepReport report{.step = member.record().step,
                    .steps = job.num_steps(),
                    .epoch = member.epoch(),
                    .epochs = job.num_epochs(),
                    .rows = member.rows,
                    .memory_bytes = backend_->account().used_bytes()};
  for (size_t i = 0; i < job.model().phases().size(); ++i) {
    size_t network = job.model().phases()[i].network;
    double last = array_->loss(i, member.member);
    report.networks.push_back({job.model().networks()[network].name,
                               member.mean_loss(i).value_or(last),
                               array_->rate(i, member.member)});
  }
  options_.listener->on_step(report);
}

// What changes more rarely than steps.
void Run::report_state(MemberRun& member) {
  if (is_alone_) return;
  MemberReport& row = report_->members[member.number];
  row.name = member.name();
  row.state = member.state;
  row.step = member.record().step;
  row.steps = member.job().num_steps();
  row.epoch = member.epoch();
  row.epochs = member.job().num_epochs();
  row.evaluation = member.evaluation();
  row.raw_evaluation = member.record().raw_evaluation;
  row.best = member.best();
  report_->memory_bytes = backend_->account().used_bytes();
  report_->limit_bytes = member.job().config().memory_limit.value_or(0);
}

std::optional<double> Run::step_s() const {
  if (full_steps_ == 0) return std::nullopt;
  return full_steps_s_ / static_cast<double>(full_steps_);
}

}  // namespace braid::train
