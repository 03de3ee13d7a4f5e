// Files of runs that no other output may replace.
#pragma once

#include <filesystem>

namespace braid::train {

// For a file that is to be written beside a run: throws std::invalid_argument
// when it is one of the run or the jobs in `out`, or of any other: config,
// jobs, log, numbers, checkpoints. Links are followed. Changes nothing.
void check_not_of_run(const std::filesystem::path& path,
                      const std::filesystem::path& out);

}  // namespace braid::train
