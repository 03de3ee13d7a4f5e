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

// The least of every number over the rows of a segment: no plan is faster or
// smaller than one of these. `dep` when all have it.
Mode best_of_rows(const SegmentModes& segment,
                  const std::vector<int32_t>& rows);

}  // namespace braid::plan
