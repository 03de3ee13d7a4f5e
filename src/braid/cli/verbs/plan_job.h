// `braid plan JOB.yaml`: what is done about the memory of each segment, why,
// and what other limits would cost.
#pragma once

#include <string>
#include <vector>

namespace braid::cli {

struct PlanJobOptions {
  std::vector<std::string> words;  // job files, and values that count over them
  std::string memory_limit, host_limit, solver;  // empty: as the job says
  bool json = false;
  std::string save, svg, dot;  // files to write; empty: none
  std::string profile;         // what was measured; completed and written
};

// The exit code.
int plan_job(const PlanJobOptions& options);

}  // namespace braid::cli
