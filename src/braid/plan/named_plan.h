// NamedPlan: a plan as people write it, by the names of segments or patterns of
// them. It may leave decisions open.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "braid/passes/rewrite/segments.h"
#include "braid/plan/plan.h"

namespace braid::plan {

inline constexpr int kMostDepth = 64;
// In place of a segment's name: all that are not named.
inline constexpr std::string_view kOtherSegments = "default";
// In place of a solver: what is not named is kept.
inline constexpr std::string_view kNoSolver = "off";

struct NamedDecision {
  std::string segment;  // its name, or a pattern; see passes::layer_length
  Decision decision = {};
  std::string where = {};  // that it was written at, for errors; may be empty
};

struct NamedPlan {
  std::optional<int> depth = {};
  // Where several fit a segment, the one that names more of its path counts, a
  // whole name over a pattern, and a later one over an earlier.
  std::vector<NamedDecision> segments = {};
  std::vector<std::vector<std::string>> joined = {};  // layers, by patterns
  // What decides about the others; empty: the default one.
  std::string solver = {};
  std::optional<Order> order = {};
  std::optional<int64_t> buffer_bytes = {};

  // A decision about a layer inside a segment cuts it.
  passes::SegmentRules rules() const;
};

// Decisions that are made and those that are open.
struct PartialPlan {
  std::optional<int> depth = {};
  std::vector<std::optional<Decision>> segments = {};
  std::optional<Order> order = {};
  int64_t buffer_bytes = kNoLimit;

  bool is_complete() const;  // about segments
  Plan filled(const Decision& others = {}) const;
};

// What the plan says about these segments. Throws for a name that fits none.
PartialPlan resolve(const NamedPlan& named,
                    const std::vector<std::string>& segments);

}  // namespace braid::plan
