#include "braid/train/job_metrics.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "braid/base/error.h"
#include "braid/base/text.h"
#include "braid/train/metrics.h"

namespace braid::train {
namespace {

using Names = std::vector<std::string>;

bool holds(const Names& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

void check_one(std::string_view key, const std::string& name,
               const Names& metrics) {
  if (holds(metrics, name)) return;
  fail_usage(
      "[metrics] {} is '{}', which is not counted\n"
      "HINT: counted are {}; 'eval.metrics' adds others",
      key, name, fmt::join(metrics, ", "));
}

[[noreturn]] void fail_no_eval(std::string_view key) {
  fail_usage(
      "[eval] {} needs data to evaluate, and the job has none\n"
      "HINT: name them as 'eval.data', in the form of 'data'",
      key);
}

}  // namespace

void check_metric_names(const Names& names, Names outputs) {
  for (const MetricKind& kind : metric_kinds()) outputs.push_back(kind.name);
  for (const std::string& name : names) {
    if (holds(outputs, name)) continue;
    fail_usage("[metrics] unknown metric '{}'\nHINT: did you mean '{}'?", name,
               nearest_name(name, outputs));
  }
}

void check_watched(const JobConfig& job, Names metrics) {
  if (!holds(metrics, "loss")) metrics.insert(metrics.begin(), "loss");
  check_one("eval.early_stop.metric", job.eval.early_stop.metric, metrics);
  if (job.checkpoint.best.empty()) return;
  check_one("checkpoint.best", job.checkpoint.best, metrics);
}

void check_unwatched(const JobConfig& job) {
  if (job.eval.early_stop.patience > 0) fail_no_eval("eval.early_stop");
  if (!job.checkpoint.best.empty()) fail_no_eval("checkpoint.best");
}

}  // namespace braid::train
