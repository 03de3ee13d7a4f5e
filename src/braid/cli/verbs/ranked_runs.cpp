#include "braid/cli/verbs/ranked_runs.h"

#include <algorithm>
#include <map>

#include "braid/base/error.h"

namespace braid::cli {

std::vector<JobResult> rows_of(const train::Results& results) {
  std::vector<JobResult> rows;
  for (const train::RunResult& run : results.runs) {
    JobResult row{.name = run.name,
                  .state = run.state,
                  .steps = run.step,
                  .metrics = run.last,
                  .folder = run.folder,
                  .best = run.best,
                  .raw = run.raw};
    if (row.metrics.empty() && run.loss) {
      row.metrics.emplace_back("loss", *run.loss);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

void rank_runs(train::Results& results) {
  std::vector<JobResult> rows = rows_of(results);
  sort_results(rows, ranking_metric(rows));
  std::map<std::string, size_t> places;  // by folder
  for (size_t i = 0; i < rows.size(); ++i) places[rows[i].folder] = i;
  std::ranges::stable_sort(results.runs, {}, [&](const train::RunResult& run) {
    return places.at(run.folder);
  });
}

train::RunResult best_run(const std::string& folder, const std::string& who) {
  train::Results results = train::read_results(folder);
  rank_runs(results);
  for (const train::RunResult& run : results.runs) {
    bool has_value = run.best.value && run.state != train::MemberState::kFailed;
    if (has_value) return run;
  }
  fail_usage("[{}] no job of '{}' was evaluated", who, folder);
}

}  // namespace braid::cli
