// Runs in the order of their leaderboard.
#pragma once

#include <vector>

#include "braid/cli/display/leaderboard.h"
#include "braid/train/run/read_results.h"

namespace braid::cli {

// Rows of a leaderboard, in the same order.
std::vector<JobResult> rows_of(const train::Results& results);

// Best first, as the leaderboard of a training has them.
void rank_runs(train::Results& results);

// The best run of a list. Throws std::invalid_argument when none was evaluated;
// `who` begins it.
train::RunResult best_run(const std::string& folder, const std::string& who);

}  // namespace braid::cli
