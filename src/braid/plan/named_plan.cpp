#include "braid/plan/named_plan.h"

#include <algorithm>
#include <tuple>

#include "braid/base/error.h"
#include "braid/base/text.h"

namespace braid::plan {
namespace {

// How closely a decision names a segment; the greatest counts.
using Fit = std::tuple<size_t, bool, size_t>;

class Resolver {
 public:
  Resolver(const NamedPlan& named, const std::vector<std::string>& segments)
      : named_(named), segments_(segments) {}

  PartialPlan run() {
    PartialPlan plan{.depth = named_.depth,
                     .order = named_.order,
                     .buffer_bytes = named_.buffer_bytes.value_or(kNoLimit)};
    plan.segments.resize(segments_.size());
    best_.resize(segments_.size());
    for (size_t i = 0; i < named_.segments.size(); ++i) place(i, plan);
    return plan;
  }

 private:
  void place(size_t number, PartialPlan& plan) {
    const NamedDecision& d = named_.segments[number];
    bool fits_any = d.segment == kOtherSegments;
    bool is_name = std::ranges::find(segments_, d.segment) != segments_.end();
    for (size_t i = 0; i < segments_.size(); ++i) {
      std::optional<Fit> fit = fit_of(d.segment, is_name, number, segments_[i]);
      fits_any = fits_any || fit.has_value();
      if (!fit || (best_[i] && *fit < *best_[i])) continue;
      best_[i] = fit;
      plan.segments[i] = d.decision;
    }
    if (fits_any) return;
    fail_usage("[plan] {}{}the model has no segment '{}'\nHINT: {}", d.where,
               d.where.empty() ? "" : ": ", d.segment,
               name_hint(d.segment, segments_));
  }

  static std::optional<Fit> fit_of(const std::string& wanted, bool is_name,
                                   size_t number, const std::string& segment) {
    if (wanted == kOtherSegments) return Fit{0, false, number};
    if (is_name) {
      bool is_below =
          segment == wanted || segment.starts_with(wanted + std::string("."));
      if (!is_below) return std::nullopt;
      return Fit{wanted.size(), true, number};
    }
    size_t length = passes::layer_length(segment, wanted);
    if (length == 0) return std::nullopt;
    return Fit{length, false, number};
  }

  const NamedPlan& named_;
  const std::vector<std::string>& segments_;
  std::vector<std::optional<Fit>> best_ = {};  // by segment
};

}  // namespace

passes::SegmentRules NamedPlan::rules() const {
  passes::SegmentRules rules{.joined = joined};
  for (const NamedDecision& d : segments) {
    if (d.segment != kOtherSegments) rules.cuts.push_back(d.segment);
  }
  return rules;
}

bool PartialPlan::is_complete() const {
  return std::ranges::all_of(
      segments, [](const std::optional<Decision>& d) { return d.has_value(); });
}

Plan PartialPlan::filled(const Decision& others) const {
  Plan plan = uniform(segments.size(), others);
  if (depth) plan.depth = *depth;
  if (order) plan.order = *order;
  plan.buffer_bytes = buffer_bytes;
  for (size_t i = 0; i < segments.size(); ++i) {
    if (segments[i]) plan.segments[i] = *segments[i];
  }
  return plan;
}

PartialPlan resolve(const NamedPlan& named,
                    const std::vector<std::string>& segments) {
  return Resolver(named, segments).run();
}

}  // namespace braid::plan
