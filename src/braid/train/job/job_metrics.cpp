#include "braid/train/job/job_metrics.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "braid/base/error.h"
#include "braid/base/text.h"
#include "braid/train/run/metrics.h"

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
      "HINT: name them as 'eval.data', in the form of 'data', or hold some "
      "back with 'data.split: 0.1'",
      key);
}

std::string best_name(const JobConfig& job, const Names& metrics) {
  if (!job.checkpoint.best.empty()) return job.checkpoint.best;
  if (!job.eval.early_stop.metric.empty()) return job.eval.early_stop.metric;
  if (!job.eval.metrics.empty()) return job.eval.metrics[0];
  for (const std::string& name : metrics) {
    if (name != "loss") return name;
  }
  return "loss";
}

std::string stop_name(const JobConfig& job, const Names& metrics) {
  const std::string& own = job.eval.early_stop.metric;
  return own.empty() ? best_name(job, metrics) : own;
}

Watched watched(const JobConfig& job, const Names& metrics,
                const std::string& name) {
  const std::string& mode = job.eval.early_stop.mode;
  bool is_told = mode != "auto" && name == stop_name(job, metrics);
  return {name, is_told ? mode == "max" : higher_is_better(name)};
}

}  // namespace

Watched best_by(const JobConfig& job, const Names& metrics) {
  return watched(job, metrics, best_name(job, metrics));
}

Watched stops_by(const JobConfig& job, const Names& metrics) {
  return watched(job, metrics, stop_name(job, metrics));
}

void check_metric_names(const Names& names, Names outputs) {
  for (const MetricKind& kind : metric_kinds()) outputs.push_back(kind.name);
  for (const std::string& name : names) {
    if (holds(outputs, name) || find_metric_kind(name)) continue;
    fail_usage("[metrics] unknown metric '{}'\nHINT: {}", name,
               name_hint(name, outputs));
  }
}

void check_watched(const JobConfig& job, Names metrics) {
  if (!holds(metrics, "loss")) metrics.insert(metrics.begin(), "loss");
  for (auto [key, name] :
       {std::pair("eval.early_stop.metric", &job.eval.early_stop.metric),
        std::pair("checkpoint.best", &job.checkpoint.best)}) {
    if (!name->empty()) check_one(key, *name, metrics);
  }
}

void check_unwatched(const JobConfig& job) {
  if (job.eval.early_stop.patience > 0) fail_no_eval("eval.early_stop");
  if (!job.checkpoint.best.empty()) fail_no_eval("checkpoint.best");
  if (!job.eval.tables.empty()) fail_no_eval("eval.tables");
}

}  // namespace braid::train
