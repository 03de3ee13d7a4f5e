// `braid inspect JOB.yaml`: exactly what a training of these jobs would run.
#pragma once

#include <string>
#include <vector>

namespace braid::cli {

struct InspectJobsOptions {
  std::vector<std::string> words;  // job files and values over them
  std::string dump_after;          // a pass; empty: a summary
  std::string profile;             // a file with measured seconds
  bool verbose = false;            // a line for each pass
};

void inspect_jobs(const InspectJobsOptions& options);

}  // namespace braid::cli
