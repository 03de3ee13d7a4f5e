#include "braid/schedule/outcome.h"

#include <algorithm>

namespace braid::schedule {
namespace {

template <class Begin, class End>
Spread spread_between(const std::vector<Job>& jobs, const Outcome& outcome,
                      Begin begin, End end) {
  std::vector<int64_t> times;
  times.reserve(jobs.size());
  for (size_t i = 0; i < jobs.size(); ++i) {
    times.push_back(end(outcome.jobs[i]) - begin(jobs[i]));
  }
  return spread_of(std::move(times));
}

}  // namespace

// The least time that so many of all do not pass.
Spread spread_of(std::vector<int64_t> times) {
  if (times.empty()) return {};
  std::ranges::sort(times);
  double sum = 0;
  for (int64_t time : times) sum += static_cast<double>(time);
  auto at = [&](size_t percent) {
    return times[(percent * times.size() + 99) / 100 - 1];
  };
  return {.mean_ns = sum / static_cast<double>(times.size()),
          .p50_ns = at(50),
          .p95_ns = at(95),
          .p99_ns = at(99),
          .most_ns = times.back()};
}

Spread completion(const std::vector<Job>& jobs, const Outcome& outcome) {
  return spread_between(
      jobs, outcome, [](const Job& job) { return job.arrival_ns; },
      [](const JobTimes& times) { return times.end_ns; });
}

Spread queueing(const std::vector<Job>& jobs, const Outcome& outcome) {
  return spread_between(
      jobs, outcome, [](const Job& job) { return job.arrival_ns; },
      [](const JobTimes& times) { return times.begin_ns; });
}

int64_t num_late(const std::vector<Job>& jobs, const Outcome& outcome) {
  int64_t count = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {
    count += outcome.jobs[i].end_ns > jobs[i].deadline_ns;
  }
  return count;
}

}  // namespace braid::schedule
