// The folder of several jobs:
//
//   OUT/jobs.json              the jobs, which of them train as one, on which
//                              devices, and the measured seconds that lowerings
//                              go by
//       NAME/                  the run of each job, as if it were alone
//       array-0/checkpoints/   one checkpoint for all members of an array
//       results.json, .csv     how all of them stand
//
// Other tools may rely on these names. jobs.json is written first and only
// ever replaced as a whole, so that a killed process can go on from it.
#pragma once

#include <filesystem>
#include <vector>

#include "braid/plan/profile.h"
#include "braid/train/job/job_list.h"
#include "braid/train/jobs/job_devices.h"

namespace braid::train {

struct JobFolder {
  std::vector<NamedJob> jobs = {};
  // Numbers of jobs that are members of one array, one after the other.
  std::vector<std::vector<size_t>> arrays = {};
  plan::Profile profile = {};
  JobDevices devices = {};  // that all share
};

// Names within the folder.
std::filesystem::path jobs_path(const std::filesystem::path& out);
std::filesystem::path array_path(const std::filesystem::path& out,
                                 size_t number);

// Whether there are jobs in the folder.
bool holds_jobs(const std::filesystem::path& out);

// Throws as check_free() of run_files.h does: jobs of which nothing was saved
// are in nobody's way. Changes nothing.
void check_free_for_jobs(const std::filesystem::path& out);

// Creates the folder; jobs of which nothing was saved are replaced. Throws as
// check_free_for_jobs(), or when it cannot be written; then nothing is left
// there.
void create_job_folder(const std::filesystem::path& out,
                       const JobFolder& folder);

// Replaces the jobs of a folder whose lock is held.
void write_job_folder(const std::filesystem::path& out,
                      const JobFolder& folder);

// Throws std::runtime_error when it cannot be read.
JobFolder read_job_folder(const std::filesystem::path& out);

}  // namespace braid::train
