// Lists of jobs from lines that follow a small job, and what is wrong with
// them.
#pragma once

#include <string>
#include <vector>

#include "braid/train/job/job_list.h"
#include "thrown.h"

namespace braid::train {

using Names = std::vector<std::string>;

inline constexpr const char* kBase = "model: lenet\ndata: glyphs\nepochs: 1\n";

inline JobList read(const std::string& lines, const Names& overrides = {}) {
  return parse_job_list(kBase + lines, "/jobs/sweep.yaml", overrides);
}

inline Names names_of(const JobList& list) {
  Names names;
  for (const NamedJob& job : list.jobs) names.push_back(job.name);
  return names;
}

inline std::string problems(const std::string& lines,
                            const Names& overrides = {}) {
  return thrown_by([&] { read(lines, overrides); });
}

}  // namespace braid::train
