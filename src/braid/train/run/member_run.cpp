#include "braid/train/run/member_run.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "braid/base/error.h"

namespace braid::train {
namespace {

constexpr std::array<std::pair<MemberState, std::string_view>, 7> kStates = {
    {{MemberState::kWaiting, "waiting"},
     {MemberState::kTraining, "training"},
     {MemberState::kPaused, "paused"},
     {MemberState::kDone, "done"},
     {MemberState::kStoppedEarly, "stopped early"},
     {MemberState::kStopped, "stopped"},
     {MemberState::kFailed, "failed"}}};

// Fewer skipped steps in a row may be a bad stretch of the data.
constexpr int64_t kLeastStuck = 10;

io::Scalars scalars(const MemberRun::Values& values) {
  return {values.begin(), values.end()};
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
  record_.skips.resize(num_phases);
  last_losses_.resize(num_phases);
}

void MemberRun::lock() {
  using Kind = io::DirectoryLock::Kind;
  lock_.emplace(out_, fence ? Kind::kShared : Kind::kAlone);
  io::remove_temporary_files(out_);
}

void MemberRun::take(RunRecord record) {
  record_ = std::move(record);
  saved_step = record_.step;
  state = MemberState::kWaiting;
}

void MemberRun::go_back(int64_t step) {
  if (record_.step == step) return;
  int64_t per_epoch = job_.steps_per_epoch();
  record_.step = step;
  record_.position = {step / per_epoch, step % per_epoch * job_.batch_rows()};
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

bool MemberRun::is_log_due(int64_t step) const {
  return step % job_.config().log_every == 0 || step == job_.num_steps();
}

bool MemberRun::has_rows() const {
  int64_t step = record_.step;
  int64_t logged =
      step == job_.num_steps() ? step : step - step % job_.config().log_every;
  int64_t last = std::max(logged, record_.last_eval);
  return last <= 0 || io::MetricsFile::last_step(metrics_path(out_)) >= last;
}

bool MemberRun::has_begun() const {
  std::error_code ignored;
  return !out_.empty() && std::filesystem::exists(log_path(out_), ignored);
}

void MemberRun::check_record() const {
  int64_t batch = job_.batch_rows();
  int64_t batches = (record_.position.sample + batch - 1) / batch;
  int64_t step = record_.position.epoch * job_.steps_per_epoch() + batches;
  if (record_.step > job_.num_steps()) {
    fail_usage(
        "[resume] '{}' has done {} steps, more than the {} of the job\n"
        "HINT: set steps or epochs that it can go on to",
        out_.string(), record_.step, job_.num_steps());
  }
  if (record_.loss_sums.size() != job_.model().phases().size()) {
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
  if (out_.empty() || !writes) return;
  keep_known(out_, job_.data().train->fields());
  files_ = std::make_unique<RunFiles>(out_, job_.config().checkpoint,
                                      record_.step, trace, fence);
  for (const std::string& line : std::exchange(unlogged_, {})) {
    files_->log(line);
  }
  if (!hparams.empty()) files_->add_hparams(record_.step, hparams);
}

void MemberRun::close_files() {
  if (!files_) return;
  if (!hparams.empty() && has_ended(state)) {
    files_->add_end(record_.step, state != MemberState::kFailed);
  }
  files_->checkpoints().finish();
  files_->sync();
  files_.reset();
}

void MemberRun::log(const std::string& text) {
  if (files_) files_->log(text);
  if (!files_ && !out_.empty() && writes) unlogged_.push_back(text);
}

void MemberRun::add_loss(size_t phase, double loss) {
  last_losses_[phase] = loss;
  if (!std::isfinite(loss)) {
    if (job_.config().on_nan == "keep") return;  // it is no step left out
    ++record_.skips[phase].in_a_row;
    ++record_.skips[phase].since_line;
    return;
  }
  record_.skips[phase].in_a_row = 0;
  record_.loss_sums[phase] += loss;
  ++record_.loss_counts[phase];
}

std::optional<double> MemberRun::mean_loss(size_t phase) const {
  if (record_.loss_counts[phase] == 0) return std::nullopt;
  return record_.loss_sums[phase] /
         static_cast<double>(record_.loss_counts[phase]);
}

double MemberRun::shown_loss(size_t phase) const {
  return mean_loss(phase).value_or(last_losses_[phase]);
}

// How often a phase ran in the steps after that one.
int64_t MemberRun::num_runs(size_t phase, int64_t after) const {
  int64_t every = job_.model().phases()[phase].every;
  auto runs = [&](int64_t steps) { return (steps + every - 1) / every; };
  return runs(record_.step) - runs(after);
}

bool MemberRun::is_stuck(size_t phase) const {
  return record_.skips[phase].in_a_row >=
         std::max(job_.config().log_every, kLeastStuck);
}

bool MemberRun::ended_stuck(size_t phase) const {
  int64_t skipped = record_.skips[phase].in_a_row;
  return skipped > 0 && (is_stuck(phase) || 2 * skipped >= num_runs(phase, 0));
}

bool MemberRun::has_learned_nothing_new() const {
  for (size_t i = 0; i < record_.skips.size(); ++i) {
    int64_t runs = num_runs(i, std::max<int64_t>(saved_step, 0));
    if (record_.skips[i].in_a_row < runs || runs == 0) return false;
  }
  return true;
}

std::string MemberRun::skip_words() const {
  std::string text;
  for (size_t i = 0; i < record_.skips.size(); ++i) {
    int64_t skipped = record_.skips[i].since_line;
    if (skipped == 0) continue;
    const std::string& name =
        job_.model().networks()[job_.model().phases()[i].network].name;
    text += fmt::format("{}{} of the last {}{}", text.empty() ? "" : ", ",
                        skipped, skipped + record_.loss_counts[i],
                        name.empty() ? "" : " of " + name);
  }
  if (text.empty()) return text;
  return fmt::format("step {}: steps whose loss is not finite were skipped: {}",
                     record_.step, text);
}

void MemberRun::add_speed(int64_t num_rows, double seconds) {
  samples_ += static_cast<double>(num_rows);
  busy_s_ += seconds;
}

void MemberRun::log_system(const io::Scalars& memory) {
  io::MetricsRow row{.step = record_.step,
                     .epoch = epoch(),
                     .time_s = elapsed(),
                     .split = "system",
                     .values = {}};
  if (busy_s_ > 0) {
    row.values.emplace_back("samples_per_s", samples_ / busy_s_);
  }
  row.values.insert(row.values.end(), memory.begin(), memory.end());
  samples_ = busy_s_ = 0;
  if (files_) files_->add(row);
}

void MemberRun::log_losses(const std::vector<double>& rates,
                           const io::Scalars& more) {
  io::MetricsRow row{.step = record_.step,
                     .epoch = epoch(),
                     .time_s = elapsed(),
                     .split = "train",
                     .values = {}};
  for (size_t i = 0; i < rates.size(); ++i) {
    size_t network = job_.model().phases()[i].network;
    std::string prefix = job_.model().networks()[network].name;
    if (!prefix.empty()) prefix += "/";
    if (auto mean = mean_loss(i)) {
      row.values.emplace_back(prefix + "loss", *mean);
    }
    row.values.emplace_back(prefix + "lr", rates[i]);
    record_.loss_sums[i] = 0;
    record_.loss_counts[i] = 0;
    record_.skips[i].since_line = 0;
  }
  row.values.insert(row.values.end(), more.begin(), more.end());
  if (files_) files_->add(row);
}

bool MemberRun::observe(const Values& values, const Values& raw) {
  record_.last_eval = record_.step;
  record_.evaluation = scalars(values);
  record_.raw_evaluation = scalars(raw);
  if (files_) {
    io::MetricsRow row{.step = record_.step,
                       .epoch = epoch(),
                       .time_s = elapsed(),
                       .split = "eval",
                       .values = record_.evaluation,
                       .weights = raw.empty() ? "" : "averaged"};
    files_->add(row);
    row.split = "eval_raw";
    row.weights = "raw";
    row.values = record_.raw_evaluation;
    if (!raw.empty()) files_->add(row);
  }
  const auto& [stop_metric, stops_higher] = job_.stops_by();
  const auto& [metric, higher] = job_.best_by();
  record_.early_stop.metric = stop_metric;
  record_.best.metric = metric;
  const EarlyStopConfig& stop = job_.config().eval.early_stop;
  bool is_mark =
      record_.early_stop.observe(values.at(stop_metric), record_.step,
                                 stops_higher, stop.min_delta) &&
      stop.patience > 0;
  bool is_best = record_.best.observe(values.at(metric), record_.step, higher);
  return is_best || is_mark;
}

BestReport MemberRun::best() const {
  return {.metric = job_.has_eval() ? job_.best_by().metric : "",
          .higher_is_better = job_.best_by().higher_is_better,
          .value = record_.best.value,
          .step = record_.best.step};
}

std::vector<int64_t> MemberRun::best_steps() const {
  std::vector<int64_t> steps;
  if (record_.best.value) steps.push_back(record_.best.step);
  bool stops = job_.config().eval.early_stop.patience > 0;
  if (stops && record_.early_stop.value) {
    steps.push_back(record_.early_stop.step);
  }
  return steps;
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
