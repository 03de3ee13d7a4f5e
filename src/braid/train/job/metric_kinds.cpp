#include "braid/train/job/metric_kinds.h"

#include <algorithm>

#include "braid/base/numbers.h"

namespace braid::train {
namespace {

using Source = MetricSource;

constexpr const char* kAnyTop = "top5";

}  // namespace

const std::vector<MetricKind>& metric_kinds() {
  static const std::vector<MetricKind> kinds{
      {"loss",
       "mean over all targets where it is a cross entropy, else over batches, "
       "weighed by their rows"},
      {"accuracy", "share of targets with the highest score", true,
       Source::kRanks},
      {kAnyTop,
       "share of targets among the five highest scores; any number will do: "
       "`top3`",
       true, Source::kRanks},
      {"perplexity", "exponential of the loss"},
      {"precision", "share of right ones among all that were taken for class 1",
       true, Source::kDecisions},
      {"recall", "share of class 1 that was found", true, Source::kDecisions},
      {"f1", "harmonic mean of both, of class 1", true, Source::kDecisions},
      {"precision_macro", "mean of all classes", true, Source::kDecisions},
      {"recall_macro", "mean of all classes", true, Source::kDecisions},
      {"f1_macro", "mean of all classes", true, Source::kDecisions},
      {"precision_micro", "of all decisions together", true,
       Source::kDecisions},
      {"recall_micro", "of all decisions together", true, Source::kDecisions},
      {"f1_micro", "of all decisions together", true, Source::kDecisions},
      {"precision_weighted", "mean of classes, weighed by their targets", true,
       Source::kDecisions},
      {"recall_weighted", "mean of classes, weighed by their targets", true,
       Source::kDecisions},
      {"f1_weighted", "mean of classes, weighed by their targets", true,
       Source::kDecisions},
      {"auc",
       "area under the ROC curve of class 1; of more than two classes the mean "
       "of each against the rest",
       true, Source::kScores},
      {"mae", "mean absolute difference", false, Source::kNumbers},
      {"mse", "mean squared difference", false, Source::kNumbers},
      {"rmse", "root of the mean squared difference; the mean over columns",
       false, Source::kNumbers},
      {"r2",
       "share of the targets' variance that is explained; the mean over "
       "columns",
       true, Source::kNumbers}};
  return kinds;
}

std::optional<int64_t> top_count(const std::string& name) {
  constexpr size_t kMostDigits = 9;
  if (!name.starts_with("top") || name.size() > 3 + kMostDigits) return {};
  std::string digits = name.substr(3);
  bool is_number = !digits.empty() && digits[0] != '0' &&
                   digits.find_first_not_of("0123456789") == digits.npos;
  return is_number ? parse_whole(digits) : std::nullopt;
}

const MetricKind* find_metric_kind(const std::string& name) {
  const std::string known = top_count(name) ? kAnyTop : name;
  const auto& kinds = metric_kinds();
  auto found = std::ranges::find(kinds, known, &MetricKind::name);
  return found == kinds.end() ? nullptr : &*found;
}

bool higher_is_better(const std::string& metric) {
  const MetricKind* kind = find_metric_kind(metric);
  return kind && kind->higher_is_better;
}

}  // namespace braid::train
