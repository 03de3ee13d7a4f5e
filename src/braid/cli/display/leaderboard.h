// Leaderboard: what came out of the jobs of a list, best first. Pure
// functions.
#pragma once

#include <string>
#include <vector>

#include "braid/train/run/listener.h"

namespace braid::cli {

struct JobResult {
  std::string name = {};
  train::MemberState state = train::MemberState::kDone;
  int64_t steps = 0;         // that it took
  io::Scalars metrics = {};  // of its last evaluation, or its last loss
  std::string folder = {};
  train::BestReport best = {};  // of its evaluations
  io::Scalars raw = {};         // as metrics, of weights that are not averaged
  bool is_error = false;        // that it failed for
};

// The metric to sort by: what the first job that was evaluated goes by, else
// the first that is not the loss, or the loss; empty when no job has any.
std::string ranking_metric(const std::vector<JobResult>& results);

// Best first by the best value of the metric; jobs that go by another one come
// after those that go by this one, and jobs without a number last. Of equal
// ones that with the lower last loss comes first.
void sort_results(std::vector<JobResult>& results, const std::string& metric);

// A table of sorted results: place, name, steps, the best value and its step,
// the last values, folder.
std::vector<std::string> leaderboard_lines(
    const std::vector<JobResult>& results, const std::string& metric,
    int width);

// "done   16 jobs, 1 failed  best lr=0.003: accuracy 0.973 at step 300  runs/a"
std::string summary_line(const std::vector<JobResult>& results,
                         const std::string& metric, const std::string& out);

}  // namespace braid::cli
