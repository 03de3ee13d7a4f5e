#include "braid/train/run/results_keeper.h"

#include <algorithm>

#include "braid/io/file/new_file.h"

namespace braid::train {
namespace {

using std::chrono::duration;
using std::chrono::duration_cast;

constexpr double kPause = 1;  // seconds between two writes
// Writing may take that share of the time; of a change of state a larger one.
constexpr double kShare = 0.01, kShareOfStates = 0.1;

void replace(const std::filesystem::path& path, const std::string& text) {
  io::NewFile file(path);
  file.append(text);
  file.finish(false);
}

}  // namespace

ResultsKeeper::ResultsKeeper(std::filesystem::path out, Results before,
                             Listener* listener)
    : out_(std::move(out)),
      results_(std::move(before)),
      listener_(listener),
      is_live_(results_.runs.size(), false) {
  for (RunResult& run : results_.runs) {
    bool is_over = has_ended(run.state) && run.state != MemberState::kStopped;
    if (!is_over) run.state = MemberState::kWaiting;
  }
}

void ResultsKeeper::begin(const std::vector<size_t>& numbers,
                          const ArrayReport& report) {
  for (size_t number : numbers) is_live_[number] = true;
  finish(report);
}

void ResultsKeeper::fail(const std::vector<size_t>& numbers,
                         const ArrayReport& report, const std::string& error) {
  take(report);
  for (size_t number : numbers) {
    RunResult& run = results_.runs[number];
    if (has_ended(run.state)) continue;
    run.state = MemberState::kFailed;
    run.error = error;
  }
  write();
}

void ResultsKeeper::stop(const ArrayReport& report) {
  take(report);
  for (RunResult& run : results_.runs) {
    if (run.state == MemberState::kTraining) run.state = MemberState::kStopped;
  }
  write();
}

void ResultsKeeper::finish(const ArrayReport& report) {
  take(report);
  write();
}

void ResultsKeeper::on_step(const StepReport& report) {
  if (listener_) listener_->on_step(report);
}

void ResultsKeeper::on_array(const ArrayReport& report) {
  if (listener_) listener_->on_array(report);
  Clock::time_point now = Clock::now();
  bool is_due = now >= next_ || (now >= soonest_ && has_new_state(report));
  if (is_due) finish(report);
}

void ResultsKeeper::on_eval(int64_t step, const io::Scalars& values,
                            const io::Scalars& raw) {
  if (listener_) listener_->on_eval(step, values, raw);
}

void ResultsKeeper::on_message(LogLevel level, std::string_view text) {
  if (listener_) listener_->on_message(level, text);
}

std::string ResultsKeeper::trouble() const {
  return listener_ ? listener_->trouble() : "";
}

bool ResultsKeeper::has_new_state(const ArrayReport& report) const {
  for (size_t i = 0; i < is_live_.size(); ++i) {
    bool is_new = report.members[i].state != results_.runs[i].state;
    if (is_live_[i] && is_new) return true;
  }
  return false;
}

void ResultsKeeper::take(const ArrayReport& report) {
  for (size_t i = 0; i < is_live_.size(); ++i) {
    if (!is_live_[i]) continue;
    const MemberReport& member = report.members[i];
    RunResult& run = results_.runs[i];
    run.state = member.state;
    run.error = member.failure;
    run.step = member.step;
    run.steps = member.steps;
    run.seconds = member.time_s;
    run.best = member.best;
    run.last = member.evaluation;
    run.last_eval = member.last_eval;
    run.raw = member.raw_evaluation;
    if (member.loss) run.loss = member.loss;
  }
}

void ResultsKeeper::write() {
  Clock::time_point begin = Clock::now();
  try {
    replace_results(out_, results_);
  } catch (const std::exception& error) {
    if (!has_failed_) on_message(LogLevel::kWarning, error.what());
    has_failed_ = true;
  }
  double took_s = duration<double>(Clock::now() - begin).count();
  auto after = [&](double seconds) {
    return Clock::now() +
           duration_cast<Clock::duration>(duration<double>(seconds));
  };
  next_ = after(std::max(kPause, took_s / kShare));
  soonest_ = after(took_s / kShareOfStates);
}

void replace_results(const std::filesystem::path& out, const Results& results) {
  replace(results_csv_path(out), results_csv(results));
  replace(results_json_path(out), results_json(results));
}

}  // namespace braid::train
