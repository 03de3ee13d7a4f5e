#include "braid/cli/leaderboard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "braid/cli/display_words.h"
#include "braid/cli/member_table.h"
#include "braid/cli/table.h"
#include "braid/cli/terminal.h"
#include "braid/train/metric_kinds.h"

namespace braid::cli {
namespace {

using Results = std::vector<JobResult>;

std::optional<double> value_of(const JobResult& result,
                               const std::string& metric) {
  for (const auto& [name, value] : result.metrics) {
    if (name == metric) return value;
  }
  return std::nullopt;
}

// Less is better; a job that failed has nothing to show.
double rank_of(const JobResult& result, const std::string& metric) {
  auto value = value_of(result, metric);
  bool failed = result.state == train::MemberState::kFailed;
  if (failed || !value || std::isnan(*value)) {
    return std::numeric_limits<double>::infinity();
  }
  return train::higher_is_better(metric) ? -*value : *value;
}

// That of the ranking first, then others in the order in which they come.
std::vector<std::string> metrics_of(const Results& results,
                                    const std::string& metric) {
  std::vector<std::string> names;
  if (!metric.empty()) names.push_back(metric);
  for (const JobResult& result : results) {
    for (const auto& [name, unused] : result.metrics) {
      if (std::ranges::count(names, name) == 0) names.push_back(name);
    }
  }
  return names;
}

template <class Text>
std::vector<std::string> cells_of(const Results& results, const Text& text) {
  std::vector<std::string> cells;
  for (const JobResult& result : results) cells.push_back(text(result));
  return cells;
}

Column metric_column(const Results& results, const std::string& name,
                     int spare) {
  auto text = [&](const JobResult& result) {
    auto value = value_of(result, name);
    return value ? fmt::format("{:.4g}", *value) : "-";
  };
  return {name, cells_of(results, text), true, 6, spare};
}

std::string numbered(const JobResult& result, size_t place, size_t count) {
  size_t digits = std::to_string(count).size();
  return fmt::format("{:>{}}  {}", place, digits, result.name);
}

}  // namespace

std::string ranking_metric(const Results& results) {
  std::string metric;
  for (const JobResult& result : results) {
    const auto* value = main_metric(result.metrics);
    if (value && value->first != "loss") return value->first;
    if (value) metric = value->first;
  }
  return metric;
}

void sort_results(Results& results, const std::string& metric) {
  std::ranges::stable_sort(results, {}, [&](const JobResult& result) {
    return std::pair(rank_of(result, metric), rank_of(result, "loss"));
  });
}

std::vector<std::string> leaderboard_lines(const Results& results,
                                           const std::string& metric,
                                           int width) {
  std::vector<Column> columns(1);
  columns[0].title = numbered({.name = "name"}, 0, results.size());
  columns[0].title.replace(0, columns[0].title.find("name") - 2,
                           std::to_string(results.size()).size(), ' ');
  for (size_t i = 0; i < results.size(); ++i) {
    columns[0].cells.push_back(numbered(results[i], i + 1, results.size()));
  }
  columns.push_back(
      {"steps",
       cells_of(results, [](const auto& r) { return std::to_string(r.steps); }),
       true, 0, 1});
  int spare = 0;  // that of the ranking always stays
  for (const std::string& name : metrics_of(results, metric)) {
    columns.push_back(metric_column(results, name, spare));
    spare = spare == 0 ? 2 : spare + 1;
  }
  columns.push_back({"state", cells_of(results, [](const auto& r) {
                       return state_text(r.state);
                     })});
  columns.push_back({"folder",
                     cells_of(results, [](const auto& r) { return r.folder; }),
                     false, 0, spare + 1});
  return table_lines(std::move(columns), width);
}

std::string summary_line(const Results& results, const std::string& metric,
                         const std::string& out) {
  auto failed = std::ranges::count(results, train::MemberState::kFailed,
                                   &JobResult::state);
  std::string jobs = fmt::format("done   {} job{}", results.size(),
                                 results.size() == 1 ? "" : "s");
  if (failed > 0) jobs += fmt::format(", {} failed", failed);
  auto best = std::ranges::min_element(results, {}, [&](const JobResult& r) {
    return std::pair(rank_of(r, metric), rank_of(r, "loss"));
  });
  std::string words;
  if (best != results.end() && std::isfinite(rank_of(*best, metric))) {
    words = fmt::format("best {}: {} {:.4g}", best->name, metric,
                        *value_of(*best, metric));
  }
  return join_words({jobs, words, out});
}

}  // namespace braid::cli
