// NamedPlan: a plan as people write it, by the names of segments.
#pragma once

#include <string>
#include <vector>

#include "braid/plan/plan.h"

namespace braid::plan {

inline constexpr int kMostDepth = 64;
// In place of a segment's name: all that are not named.
inline constexpr std::string_view kOtherSegments = "default";

struct NamedDecision {
  std::string segment;
  Decision decision = {};
  std::string where = {};  // that it was written at, for errors; may be empty
};

struct NamedPlan {
  int depth = Plan{}.depth;
  std::vector<NamedDecision> segments = {};  // later ones count
};

// The plan for these segments; those that it does not name are kept. Throws for
// a name that is none of them.
Plan resolve(const NamedPlan& named, const std::vector<std::string>& segments);

}  // namespace braid::plan
