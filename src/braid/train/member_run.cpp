#include "braid/train/member_run.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "braid/base/error.h"
#include "braid/train/metrics.h"

namespace braid::train {
namespace {

constexpr std::array<std::pair<MemberState, std::string_view>, 5> kStates = {
    {{MemberState::kWaiting, "waiting"},
     {MemberState::kTraining, "training"},
     {MemberState::kDone, "done"},
     {MemberState::kStoppedEarly, "stopped early"},
     {MemberState::kFailed, "failed"}}};

bool higher(const EarlyStopConfig& config) {
  return config.mode == "auto" ? higher_is_better(config.metric)
                               : config.mode == "max";
}

}  // namespace

std::string_view member_state_name(MemberState state) {
  for (auto [known, name] : kStates) {
    if (known == state) return name;
  }
  return "";
}

MemberState parse_member_state(std::string_view name) {
  for (auto [state, known] : kStates) {
    if (known == name) return state;
  }
  fail_world("[resume] '{}' is no state of a member", name);
}

MemberRun::MemberRun(const Job& job, std::string name,
                     std::filesystem::path out)
    : job_(job), name_(std::move(name)), out_(std::move(out)) {
  size_t num_phases = job.model().phases().size();
  record_.loss_sums.resize(num_phases);
  record_.loss_counts.resize(num_phases);
}

void MemberRun::lock() {
  lock_.emplace(out_);
  io::remove_temporary_files(out_);
}

bool MemberRun::is_at_end() const {
  return record_.step == job_.num_steps() || is_stopped_early();
}

bool MemberRun::is_stopped_early() const {
  int64_t patience = job_.config().eval.early_stop.patience;
  return patience > 0 && record_.early_stop.worse >= patience;
}

bool MemberRun::is_eval_due() const {
  int64_t every = job_.config().eval.every;
  if (every == 0) every = job_.steps_per_epoch();
  bool is_last = record_.step == job_.num_steps();
  return job_.has_eval() && record_.last_eval != record_.step &&
         (record_.step % every == 0 || is_last);
}

bool MemberRun::is_checkpoint_due() const {
  int64_t every = job_.config().checkpoint.every;
  return every > 0 && record_.step % every == 0;
}

bool MemberRun::is_log_due() const {
  return record_.step % job_.config().log_every == 0 ||
         record_.step == job_.num_steps();
}

bool MemberRun::has_rows() const {
  int64_t step = record_.step;
  int64_t logged =
      step == job_.num_steps() ? step : step - step % job_.config().log_every;
  int64_t last = std::max(logged, record_.last_eval);
  return last <= 0 || io::MetricsFile::last_step(metrics_path(out_)) >= last;
}

void MemberRun::check_record() const {
  int64_t batch = job_.batch_rows();
  int64_t batches = (record_.position.sample + batch - 1) / batch;
  int64_t step = record_.position.epoch * job_.steps_per_epoch() + batches;
  if (record_.loss_sums.size() != job_.model().phases().size() ||
      record_.step > job_.num_steps()) {
    fail_usage(
        "[resume] '{}' is of another job: it has {} losses after {} steps\n"
        "HINT: was {} changed?",
        out_.string(), record_.loss_sums.size(), record_.step,
        config_path(out_).filename().string());
  }
  if (step == record_.step) return;
  fail_world(
      "[resume] '{}' stands at sample {} of epoch {} after {} steps, which "
      "does not fit {} samples\n"
      "HINT: the data must be those that the run began with",
      out_.string(), record_.position.sample, record_.position.epoch,
      record_.step, job_.data().train->size());
}

void MemberRun::start() {
  time_before_s_ = record_.time_s;
  start_ = Clock::now();
}

void MemberRun::open_files(io::Trace* trace) {
  if (out_.empty()) return;
  files_ = std::make_unique<RunFiles>(out_, job_.config().checkpoint,
                                      record_.step, trace);
  for (const std::string& line : std::exchange(unlogged_, {})) {
    files_->log(line);
  }
}

void MemberRun::close_files() {
  if (!files_) return;
  files_->checkpoints().finish();
  files_->sync();
  files_.reset();
}

void MemberRun::log(const std::string& text) {
  if (files_) files_->log(text);
  if (!files_ && !out_.empty()) unlogged_.push_back(text);
}

void MemberRun::add_loss(size_t phase, double loss) {
  if (!std::isfinite(loss)) return;
  record_.loss_sums[phase] += loss;
  ++record_.loss_counts[phase];
}

void MemberRun::log_losses(const std::vector<double>& rates) {
  io::MetricsRow row{.step = record_.step,
                     .epoch = epoch(),
                     .time_s = elapsed(),
                     .split = "train",
                     .values = {}};
  for (size_t i = 0; i < rates.size(); ++i) {
    size_t network = job_.model().phases()[i].network;
    std::string prefix = job_.model().networks()[network].name;
    if (!prefix.empty()) prefix += "/";
    if (record_.loss_counts[i] > 0) {
      row.values.emplace_back(
          prefix + "loss",
          record_.loss_sums[i] / static_cast<double>(record_.loss_counts[i]));
    }
    row.values.emplace_back(prefix + "lr", rates[i]);
    record_.loss_sums[i] = 0;
    record_.loss_counts[i] = 0;
  }
  if (files_) files_->add(row);
}

bool MemberRun::observe(const std::map<std::string, double>& values) {
  record_.last_eval = record_.step;
  record_.evaluation.assign(values.begin(), values.end());
  if (files_) {
    files_->add({.step = record_.step,
                 .epoch = epoch(),
                 .time_s = elapsed(),
                 .split = "eval",
                 .values = record_.evaluation});
  }
  const EarlyStopConfig& stop = job_.config().eval.early_stop;
  std::string metric = job_.config().checkpoint.best;
  if (metric.empty()) metric = "loss";
  record_.early_stop.observe(values.at(stop.metric), record_.step, higher(stop),
                             stop.min_delta);
  return record_.best.observe(values.at(metric), record_.step,
                              higher_is_better(metric));
}

std::optional<int64_t> MemberRun::best_step() const {
  if (!record_.best.value) return std::nullopt;
  return record_.best.step;
}

double MemberRun::epoch() const {
  return static_cast<double>(record_.step) /
         static_cast<double>(job_.steps_per_epoch());
}

double MemberRun::elapsed() const {
  std::chrono::duration<double> since = Clock::now() - start_;
  return time_before_s_ + since.count();
}

}  // namespace braid::train
