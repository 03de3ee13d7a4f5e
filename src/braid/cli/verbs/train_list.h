// `braid train` and `braid resume` for several jobs.
#pragma once

#include <optional>
#include <string>

#include "braid/cli/log_options.h"
#include "braid/cli/verbs/device_options.h"
#include "braid/plan/profile.h"
#include "braid/train/job/job_list.h"

namespace braid::cli {

struct TrainListOptions {
  std::string out;
  bool resume = false;  // go on when `out` holds these jobs
  std::string profile;  // a file with measured seconds; empty: none
  std::vector<std::string> overrides;  // of a resume: values to go on with
  int64_t queue = 0;  // for so many workers, which train later; 0: none
  std::optional<double> lease_s;  // of these
  DeviceOptions devices;
  std::string trace;  // a file for Perfetto; empty: none
  LogOptions log;
};

// Groups the jobs, creates their folder and trains them; gives the exit code.
int train_list(train::JobList list, const TrainListOptions& options);

// The same for jobs whose folder there is.
int resume_list(const TrainListOptions& options);

}  // namespace braid::cli
