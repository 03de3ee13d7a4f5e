// The ends of what can be chosen: every segment with its most savings, and
// every segment without any.
#include <algorithm>

#include "braid/plan/solve/solve.h"

namespace braid::plan {
namespace {

// Bytes that lie there together with those of other segments, then those that
// only lie there in turn.
std::pair<int64_t, int64_t> bytes_of(const Mode& mode) {
  return {mode.res + mode.keep + mode.grad,
          std::max(mode.xf + mode.wf, mode.xb + mode.wb)};
}

int64_t all_time(const Mode& mode) {
  int64_t sum = 0;
  for (const ModeField& field : kTimeFields) sum += mode.*(field.at);
  return sum;
}

// The first of the rows with the least key.
template <class Key>
std::vector<int32_t> least_rows(const Instance& instance, const Key& key) {
  std::vector<int32_t> modes;
  for (const SegmentModes& segment : instance.segments) {
    auto least = std::ranges::min_element(segment.modes, {}, key);
    modes.push_back(static_cast<int32_t>(least - segment.modes.begin()));
  }
  return modes;
}

// With the depth that makes them fastest within the limits.
Solution fastest_depth(const Instance& instance,
                       const std::vector<int32_t>& modes) {
  Solution best;
  for (int depth : instance.depths) {
    Solution made = solution_of(instance, depth, modes);
    bool is_better =
        made.feasible && (!best.feasible || made.time_ns() < best.time_ns());
    if (is_better) best = std::move(made);
  }
  return best;
}

}  // namespace

Solution solve_all_on(const Instance& instance, const SolveOptions&) {
  return fastest_depth(instance, least_rows(instance, [](const Mode& mode) {
                         return std::pair(bytes_of(mode), all_time(mode));
                       }));
}

Solution solve_all_off(const Instance& instance, const SolveOptions&) {
  return fastest_depth(instance, least_rows(instance, [](const Mode& mode) {
                         return std::pair(all_time(mode), bytes_of(mode));
                       }));
}

}  // namespace braid::plan
