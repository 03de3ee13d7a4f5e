// Branch and bound: all plans of one depth, left out in groups that cannot be
// better. It ends with a proof, or with the number of groups it may look at.
#pragma once

#include <vector>

#include "braid/plan/solve/duals.h"
#include "braid/plan/solve/rows.h"
#include "braid/plan/solve/search.h"

namespace braid::plan {

// Looks for plans faster than the incumbent, which takes them. `pool` are duals
// of that depth. True when there are no more: what the incumbent has is the
// fastest, or none fits. `looks` are counted down.
bool branch_and_bound(const Instance& instance, const Rows& rows, int depth,
                      const std::vector<Duals>& pool, Incumbent& incumbent,
                      int64_t* looks);

// What bounds the peak: of any plan it is at least the sum of its rows' costs,
// plus the constant, over the total.
struct PeakPrices {
  std::vector<std::vector<__int128>> costs = {};
  __int128 constant = 0;
  int64_t total = 0;
};

// The same for the least peak within the limit of the host: plans below
// `*peak`, which is lowered with `modes`.
bool branch_on_peak(const Instance& instance, const Rows& rows, int depth,
                    const std::vector<PeakPrices>& pool, int64_t* peak,
                    std::vector<int32_t>* modes, int64_t* looks);

}  // namespace braid::plan
