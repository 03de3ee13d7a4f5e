// Policy: which job a free device takes next. Each policy is a row of a table,
// and one of the user's own is a class with one function.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "braid/schedule/job.h"

namespace braid::schedule {

// What a policy knows of a job at the moment when a device looks for work.
struct JobView {
  const Job* job = nullptr;
  int64_t number = 0;  // in the list of jobs
  int64_t units_begun = 0;
  int64_t steps_done = 0;
  int64_t done_ns = 0;  // of its work, at speed 1
  int64_t left_ns = 0;
};

class Policy {
 public:
  virtual ~Policy() = default;

  // The job with the least key goes first; of equal ones that which the device
  // has at the moment, then that which comes first in the list. A function of
  // the job alone, which only changes while the job runs.
  virtual double key(const JobView& view) const = 0;

  // Throws where a job lacks what the policy goes by.
  virtual void check(const std::vector<Job>&) const {}
};

struct PolicyKind {
  std::string_view name;
  std::string_view words;  // for --help and the docs
  std::unique_ptr<Policy> (*make)(uint64_t seed);
};
const std::vector<PolicyKind>& policies();

// Throws std::invalid_argument for a name that there is not. The seed is that
// of `random`.
std::unique_ptr<Policy> make_policy(std::string_view name, uint64_t seed = 0);

}  // namespace braid::schedule
