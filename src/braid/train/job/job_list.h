// Job lists: several jobs from one or more files, each of which may list
// members:
//
//   model: lenet
//   data: glyphs
//   epochs: 3
//   members:
//     - {optimizer.lr: 1e-3}
//     - {optimizer.lr: 3e-3, seed: 2}
//     - {name: slow, optimizer.lr: 1e-4}
//
// or make them of lists of values (job_grid.h):
//
//   grid: {optimizer.lr: [1e-3, 3e-3], seed: [1, 2, 3]}
//
// A member is the job of the file with other values for some keys, as the
// command line would set them. What comes out are plain jobs with names.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "braid/train/job/job_config.h"

namespace braid::train {

inline constexpr size_t kMostMembers = 4096;  // of one file, and in all

struct NamedJob {
  std::string name = {};  // of its folder, see job_names.h
  JobConfig config = {};

  bool operator==(const NamedJob&) const = default;
};

struct JobList {
  std::vector<NamedJob> jobs = {};
  bool is_single = false;  // one file without members
};

// Reads and validates all files. `overrides` count over files and members, and
// may be "members=[...]". With several files, names begin with that of the
// file. Throws one std::invalid_argument that lists every problem with its
// line and the member concerned, or std::runtime_error when a file cannot be
// read.
JobList read_job_list(const std::vector<std::filesystem::path>& files,
                      const std::vector<std::string>& overrides = {});

// The same from the text of one file; `path` names it in errors and gives the
// folder.
JobList parse_job_list(std::string_view text, const std::filesystem::path& path,
                       const std::vector<std::string>& overrides = {});

}  // namespace braid::train
