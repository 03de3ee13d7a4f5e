// Whether a run that goes on is still the run that was saved.
#include <fmt/ranges.h>

#include "braid/base/error.h"
#include "braid/train/job/job_changes.h"
#include "braid/train/job/job_file.h"
#include "braid/train/run/member_run.h"

namespace braid::train {
namespace {

DataSum present_sum(const data::Dataset& dataset, const DataConfig& config,
                    MemberRun::DataSums& sums) {
  auto [at, is_new] = sums.try_emplace(&dataset);
  if (is_new) at->second = sum_data(dataset);
  DataSum sum = at->second;
  sum.files = files_of(config);
  return sum;
}

}  // namespace

std::vector<MemberRun::Note> MemberRun::review_record(DataSums& sums) {
  std::vector<Note> notes;
  if (!record_.config.empty()) compare_config(notes);
  record_.config = job_text(job_.config(), false);
  const DataConfig& data = job_.config().data;
  DataSum train = present_sum(*job_.data().train, data, sums);
  if (record_.train_data) {
    compare_data("training data of " + job_.data().train->name(),
                 data.on_change, *record_.train_data, train, notes);
  }
  record_.train_data = train;
  if (job_.has_eval()) {
    const DataConfig& own = job_.config().eval.data.value_or(data);
    DataSum eval = present_sum(*job_.data().eval, own, sums);
    if (record_.eval_data) {
      compare_data("evaluation data of " + job_.data().eval->name(),
                   own.on_change, *record_.eval_data, eval, notes);
    }
    record_.eval_data = eval;
  }
  record_.skips.resize(job_.model().phases().size());
  adapt_best();
  return notes;
}

void MemberRun::compare_config(std::vector<Note>& notes) const {
  std::vector<std::string> refused, taken;
  for (const KeyChange& change :
       job_changes(recorded_job(record_.config), job_.config())) {
    bool may = may_change(change, job_.config());
    (may ? taken : refused).push_back(change_text(change));
  }
  if (!refused.empty()) {
    fail_usage(
        "[resume] '{}' is of another job than the checkpoints there:\n  {}\n"
        "HINT: put the old values back, or begin a new run with the new ones",
        config_path(out_).string(), fmt::join(refused, "\n  "));
  }
  if (taken.empty()) return;
  notes.push_back(
      {LogLevel::kInfo,
       fmt::format("changed since the last run: {}", fmt::join(taken, ", "))});
}

void MemberRun::compare_data(std::string_view what,
                             const std::string& on_change,
                             const DataSum& before, const DataSum& now,
                             std::vector<Note>& notes) const {
  std::string change = content_change(before, now);
  if (!change.empty() && on_change == "refuse") {
    fail_world(
        "[resume] the {} changed:\n  {}\n"
        "HINT: bring them back, or set 'on_change: warn' in '{}'",
        what, change, config_path(out_).string());
  }
  if (!change.empty()) {
    notes.push_back(
        {LogLevel::kWarning, fmt::format("the {} changed: {}", what, change)});
    return;
  }
  change = file_change(before, now);
  if (change.empty()) return;
  notes.push_back(
      {LogLevel::kWarning,
       fmt::format("the {} may have changed: {}; the {} samples that were "
                   "compared are the same",
                   what, change, now.looked_at)});
}

// Records did not always name their metrics: the best went by
// `checkpoint.best` or the loss.
void MemberRun::adapt_best() {
  const std::string& named = job_.config().checkpoint.best;
  Best &best = record_.best, &mark = record_.early_stop;
  if (best.metric.empty()) best.metric = named.empty() ? "loss" : named;
  if (mark.metric.empty()) mark.metric = job_.stops_by().metric;
  const std::string& metric = job_.best_by().metric;
  if (best.metric != metric) best = mark.metric == metric ? mark : Best{};
}

}  // namespace braid::train
