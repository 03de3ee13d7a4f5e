// Grids: members by the values that keys take.
//
//   grid:                          every value with every other: 6 jobs
//     optimizer.lr: [1e-3, 3e-3]
//     seed: [1, 2, 3]
//   zip:                           side by side: each of them twice
//     batch_size: [32, 64]
//     accumulate: [1, 2]
//
// With `members`, each member takes all of them.
#pragma once

#include "braid/config/node.h"
#include "braid/config/report.h"

namespace braid::train {

inline constexpr const char* kGridKeys[] = {"grid", "zip"};

// The item of a map, which is gone from it; null when there is none.
config::Node take_key(config::Node& root, const char* key);

// The list of members that `members` (a list, or null) and the grids of `root`
// make together, and the grids are gone from it; null where there is none of
// them. The first key changes slowest. Problems go to the report; then what is
// returned is of no use.
config::Node expand_grids(config::Node& root, config::Node members,
                          config::Report& report);

}  // namespace braid::train
