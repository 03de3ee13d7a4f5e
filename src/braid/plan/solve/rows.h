// Rows: which modes of each segment are worth looking at. A mode that another
// one beats or equals in every number can be left out: time and bytes never
// fall when a number grows.
#pragma once

#include <cstdint>
#include <vector>

#include "braid/plan/solve/instance.h"

namespace braid::plan {

// Modes by segment, in rising order, at least one each.
using Rows = std::vector<std::vector<int32_t>>;

Rows undominated_rows(const Instance& instance);

// Of those, the ones that some plan of this depth within the limits may have: a
// row goes when it is too large even beside the best of what is left of the
// other segments, until no more go. No rows at all when no plan fits.
Rows possible_rows(const Instance& instance, const Rows& rows, int depth);

// The least of every number over the rows of a segment: no plan is faster or
// smaller than one of these. `dep` when all have it.
Mode best_of_rows(const SegmentModes& segment,
                  const std::vector<int32_t>& rows);

// The instance with that as one more mode, the last one, of each segment.
Instance with_best_rows(const Instance& instance, const Rows& rows);

}  // namespace braid::plan
