#include "braid/plan/named_plan.h"

#include <algorithm>

#include "braid/base/error.h"
#include "braid/base/text.h"

namespace braid::plan {

Plan resolve(const NamedPlan& named, const std::vector<std::string>& segments) {
  Plan plan = keep_all(segments.size());
  plan.depth = named.depth;
  for (const NamedDecision& d : named.segments) {
    if (d.segment == kOtherSegments) {
      plan.segments.assign(segments.size(), d.decision);
    }
  }
  for (const NamedDecision& d : named.segments) {
    if (d.segment == kOtherSegments) continue;
    auto at = std::ranges::find(segments, d.segment);
    if (at == segments.end()) {
      fail_usage(
          "[plan] {}{}the model has no segment '{}'\nHINT: did you mean '{}'?",
          d.where, d.where.empty() ? "" : ": ", d.segment,
          nearest_name(d.segment, segments));
    }
    plan.segments[static_cast<size_t>(at - segments.begin())] = d.decision;
  }
  return plan;
}

}  // namespace braid::plan
