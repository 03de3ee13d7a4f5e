#include "braid/train/run.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "braid/base/error.h"
#include "braid/io/checkpoint.h"
#include "braid/train/model_state.h"
#include "braid/train/run_checkpoint.h"
#include "braid/train/run_words.h"

namespace braid::train {

Ending Run::run() {
  start_ = Clock::now();
  try {
    return train();
  } catch (const std::exception& error) {
    note_failure(error);
    throw;
  }
}

Ending Run::train() {
  Ending ending = Ending::kDone;
  while (record_.step < job_.num_steps()) {
    if (options_.stop && options_.stop()) {
      ending = Ending::kInterrupted;
      break;
    }
    if (is_stopped_early()) {
      ending = Ending::kStoppedEarly;
      break;
    }
    step();
    bool is_last = record_.step == job_.num_steps();
    if (record_.step % job_.config().log_every == 0 || is_last) log_losses();
    if (is_eval_due()) evaluate();
    int64_t every = job_.config().checkpoint.every;
    if (every > 0 && record_.step % every == 0) save_checkpoint();
  }
  save_checkpoint();
  if (files_) {
    files_->checkpoints().finish();
    files_->sync();
  }
  if (trace_) trace_->finish();
  return ending;
}

// For who reads the log later; a full disk does not take that line either.
void Run::note_failure(const std::exception& error) {
  if (!files_) return;
  try {
    files_->log(error.what());
  } catch (const std::exception&) {
    return;
  }
}

// Every phase that is due, on one batch.
void Run::step() {
  io::TraceSpan span(trace_.get(), "compute", "step",
                     fmt::format("step {}", record_.step + 1));
  const data::Batch* batch = nullptr;
  {
    io::TraceSpan wait(trace_.get(), "load", "wait", "wait for data");
    batch = loader_->next();
  }
  for (size_t i = 0; i < phases_.size(); ++i) {
    if (record_.step % job_.model().phases()[i].every != 0) continue;
    run_phase(i, *batch);
    check_finite(i);
  }
  ++record_.step;
  record_.position = batch->next;
  report(*batch);
}

void Run::run_phase(size_t phase, const data::Batch& batch) {
  PhaseRun& p = phases_[phase];
  bool is_rest = batch.rows != job_.batch_rows();
  const Job::Places& places = job_.places();
  runtime::Executor& executor =
      programs_->executor((is_rest ? places.rest : places.full)[phase]);
  BatchFeed& feed = *p.feeds[is_rest ? 1 : 0];
  feed.set(batch, record_.step);
  if (p.rates) p.rates->before_step();
  executor.step(
      [&](int64_t micro, ValueId input) { return feed.at(micro, input); });
  if (p.rates) p.rates->after_step(executor.losses());
  p.loss = executor.losses().at(0);
  if (!std::isfinite(p.loss)) return;
  record_.loss_sums[phase] += p.loss;
  ++record_.loss_counts[phase];
}

// With on_nan: skip the phase has left weights and their update's state as
// they were.
void Run::check_finite(size_t phase) {
  double loss = phases_[phase].loss;
  int64_t step = record_.step + 1;
  if (std::isfinite(loss)) return;
  if (job_.config().on_nan == "skip") {
    say(LogLevel::kWarning,
        fmt::format("step {}: the loss is {}, the step was skipped", step,
                    loss));
    return;
  }
  if (files_) files_->checkpoints().finish();
  fail_world(
      "[train] the loss is {} at step {}; {}\n"
      "HINT: lower the learning rate, clip gradients, or set 'on_nan: skip'",
      loss, step,
      saved_step_ > 0 ? fmt::format("step {} is saved", saved_step_)
                      : "nothing was saved yet");
}

void Run::report(const data::Batch& batch) {
  if (!options_.listener) return;
  StepReport report{.step = record_.step,
                    .steps = job_.num_steps(),
                    .epoch = epoch(),
                    .rows = batch.rows,
                    .memory_bytes = backend_->account().used_bytes()};
  if (!job_.config().steps && job_.config().epochs) {
    report.epochs = static_cast<double>(*job_.config().epochs);
  }
  for (size_t i = 0; i < phases_.size(); ++i) {
    size_t network = job_.model().phases()[i].network;
    report.networks.push_back(
        {job_.model().networks()[network].name, phases_[i].loss, rate_of(i)});
  }
  options_.listener->on_step(report);
}

// The mean since the last line.
void Run::log_losses() {
  io::MetricsRow row{.step = record_.step,
                     .epoch = epoch(),
                     .time_s = elapsed(),
                     .split = "train",
                     .values = {}};
  for (size_t i = 0; i < phases_.size(); ++i) {
    size_t network = job_.model().phases()[i].network;
    std::string prefix = job_.model().networks()[network].name;
    if (!prefix.empty()) prefix += "/";
    if (record_.loss_counts[i] > 0) {
      row.values.emplace_back(
          prefix + "loss",
          record_.loss_sums[i] / static_cast<double>(record_.loss_counts[i]));
    }
    row.values.emplace_back(prefix + "lr", rate_of(i));
    record_.loss_sums[i] = 0;
    record_.loss_counts[i] = 0;
  }
  if (files_) files_->add(row);
}

void Run::save_checkpoint() {
  if (!files_ || saved_step_ == record_.step) return;
  io::TraceSpan span(trace_.get(), "checkpoint", "copy", "copy to the host");
  record_.time_s = elapsed();
  files_->sync();  // a checkpoint never knows more than the metrics
  files_->checkpoints().save(
      record_.step,
      checkpoint_files(programs_->state(), job_.model().networks()),
      record_json(record_), best_step());
  saved_step_ = record_.step;
  say(LogLevel::kDebug, fmt::format("checkpoint of step {}", record_.step));
}

std::optional<int64_t> Run::best_step() const {
  if (!record_.best.value) return std::nullopt;
  return record_.best.step;
}

bool Run::is_finished() const {
  bool is_end = record_.step == job_.num_steps() || is_stopped_early();
  return is_end && saved_step_ == record_.step;
}

void Run::save(const std::filesystem::path& path, size_t network) const {
  const JobNetwork& n = job_.model().networks().at(network);
  io::write_safetensors(
      path, member_state(programs_->state(), 0, n.prefix()).tensors());
}

int64_t Run::num_parameters() const {
  return train::num_parameters(programs_->state());
}

void Run::say(LogLevel level, const std::string& text) {
  if (files_) files_->log(text);
  if (!files_ && !options_.out.empty()) unlogged_.push_back(text);
  if (options_.listener) options_.listener->on_message(level, text);
}

double Run::epoch() const {
  return static_cast<double>(record_.step) /
         static_cast<double>(job_.steps_per_epoch());
}

double Run::elapsed() const {
  std::chrono::duration<double> since = Clock::now() - start_;
  return time_before_s_ + since.count();
}

double Run::rate_of(size_t phase) const {
  if (phases_[phase].rates) return phases_[phase].rates->present();
  size_t network = job_.model().phases()[phase].network;
  return job_.model().networks()[network].optimizer.hyper.at("lr");
}

}  // namespace braid::train
