// Results of runs as their folders tell them, also while they train.
#pragma once

#include <filesystem>

#include "braid/train/run/results.h"

namespace braid::train {

// The jobs of a list, one run, or the runs and lists in a folder, which are
// sorted by name. A run that nobody trains is not running, whatever was written
// of it. Changes nothing. Throws std::invalid_argument when there is none.
Results read_results(const std::filesystem::path& folder);

}  // namespace braid::train
