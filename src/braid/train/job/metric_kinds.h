// Kinds of metrics: one row each, for jobs, displays and the docs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace braid::train {

// What a metric is counted from.
enum class MetricSource {
  kLoss,
  kRanks,      // of the targets' scores, counted where the model runs
  kDecisions,  // the target and the class with the highest score
  kScores,     // of all targets and classes
  kNumbers,    // the numbers that a loss compares
};

struct MetricKind {
  std::string name;
  std::string summary;
  bool higher_is_better = false;
  MetricSource source = MetricSource::kLoss;
};

// Those that are made here; any other name is an output of the model. The row
// top5 stands for any other number.
const std::vector<MetricKind>& metric_kinds();

// Null for a name that is none of them.
const MetricKind* find_metric_kind(const std::string& name);

// "top3" -> 3; nothing for another name.
std::optional<int64_t> top_count(const std::string& name);

bool higher_is_better(const std::string& metric);

}  // namespace braid::train
