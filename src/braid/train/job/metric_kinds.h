// Kinds of metrics: one row each, for jobs, displays and the docs.
#pragma once

#include <string>
#include <vector>

namespace braid::train {

struct MetricKind {
  std::string name;
  std::string summary;
  bool higher_is_better = false;
};

// Those that are made here; any other name is an output of the model.
const std::vector<MetricKind>& metric_kinds();

bool higher_is_better(const std::string& metric);

}  // namespace braid::train
