// Grouping: which jobs of a list are trained together, and how many at once.
//
// A pure function of the jobs, what arrays of them cost, and a saved profile.
// Jobs with equal signatures form a group; a group is cut into arrays of about
// equal size, so that none is a small remainder: 24 jobs of which 10 fit give
// three arrays of 8. How many arrays is decided by the predicted time of a step
// of all of them, one array after the other or on several devices at once,
// among those that fit the memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "braid/plan/profile.h"

namespace braid::train {

struct GroupingJob {
  std::string signature = {};  // see job_signature.h
  std::string data = {};       // equal: members share each batch
};

// An array of some size, as costs see it.
struct ArraySize {
  int64_t members = 1;
  bool shared_data = false;

  auto operator<=>(const ArraySize&) const = default;
};

// What arrays of one group cost.
struct ArrayCosts {
  // Seconds of one step of all members, from arithmetic alone.
  std::function<double(const ArraySize&)> step_s;
  // Bytes of the device, exact where they are at most the limit.
  std::function<int64_t(const ArraySize&)> bytes;
  int64_t limit_bytes = 0;
};
using CostsOf = std::function<ArrayCosts(size_t job)>;

struct ArrayPlan {
  std::vector<size_t> jobs = {};  // by number in the list, rising
  ArraySize size = {};
  double step_s = 0;         // predicted, or
  bool is_measured = false;  // taken from the profile
  int64_t bytes = 0;         // of the device; 0: not asked for
  bool fits = true;          // false: a single job that does not fit as it is

  bool operator==(const ArrayPlan&) const = default;
};

// Groups in the order of their first jobs, each with its arrays. `costs_of` is
// asked once for each group with more than one job, with its first job.
std::vector<ArrayPlan> group_jobs(const std::vector<GroupingJob>& jobs,
                                  const CostsOf& costs_of,
                                  const plan::Profile& profile = {},
                                  int devices = 1);

// Where a profile keeps the measured seconds of a step of an array.
std::string step_key(const std::string& signature, const ArraySize& size);

// Sizes of `arrays` arrays of `jobs` members in all, larger ones first; no two
// differ by more than one.
std::vector<int64_t> even_sizes(int64_t jobs, int64_t arrays);

}  // namespace braid::train
