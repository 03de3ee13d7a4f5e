#include "braid/train/job/metric_kinds.h"

namespace braid::train {

const std::vector<MetricKind>& metric_kinds() {
  static const std::vector<MetricKind> kinds{
      {"loss",
       "mean over all targets where it is a cross entropy, else over batches, "
       "weighed by their rows"},
      {"accuracy", "share of targets with the highest score", true},
      {"top5", "share of targets among the five highest scores", true},
      {"perplexity", "exponential of the loss"}};
  return kinds;
}

bool higher_is_better(const std::string& metric) {
  for (const MetricKind& kind : metric_kinds()) {
    if (kind.name == metric) return kind.higher_is_better;
  }
  return false;
}

}  // namespace braid::train
