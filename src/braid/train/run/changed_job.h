// Other values for a run that goes on: `braid resume DIR epochs=10`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "braid/train/job/job_config.h"

namespace braid::train {

// The job of the folder `out` with these values ("epochs=10") in place of its
// own; paths are absolute. Throws std::invalid_argument with all keys whose
// values a run, or one in an array, cannot go on with. Writes nothing.
JobConfig changed_job(const JobConfig& job, const std::filesystem::path& out,
                      const std::vector<std::string>& overrides,
                      bool in_array = false);

}  // namespace braid::train
