#include "braid/cli/display/leaderboard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "braid/cli/display/display_words.h"
#include "braid/cli/display/member_table.h"
#include "braid/cli/display/table.h"
#include "braid/cli/display/terminal.h"
#include "braid/train/job/metric_kinds.h"

namespace braid::cli {
namespace {

using Results = std::vector<JobResult>;

std::optional<double> value_of(const io::Scalars& values,
                               const std::string& metric) {
  for (const auto& [name, value] : values) {
    if (name == metric) return value;
  }
  return std::nullopt;
}

// Less is better; a job that failed has nothing to show.
double rank_by(const JobResult& result, std::optional<double> value,
               bool higher_is_better) {
  bool failed = result.state == train::MemberState::kFailed;
  if (failed || !value || std::isnan(*value)) {
    return std::numeric_limits<double>::infinity();
  }
  return higher_is_better ? -*value : *value;
}

double last_rank(const JobResult& result, const std::string& metric) {
  return rank_by(result, value_of(result.metrics, metric),
                 train::higher_is_better(metric));
}

// The best value of an evaluation, else the last of what there is.
double rank_of(const JobResult& result, const std::string& metric) {
  if (result.best.metric.empty()) return last_rank(result, metric);
  return rank_by(result, result.best.value, result.best.higher_is_better);
}

// Which of two comes first: those that go by the metric, then others, then
// those without a number.
auto place_of(const JobResult& result, const std::string& metric) {
  double rank = rank_of(result, metric);
  bool is_other = !result.best.metric.empty() && result.best.metric != metric;
  int group = std::isinf(rank) && rank > 0 ? 2 : is_other ? 1 : 0;
  return std::tuple(group, group == 1 ? result.best.metric : "", rank,
                    last_rank(result, "loss"));
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

std::string number_text(const std::optional<double>& number) {
  return number ? fmt::format("{:.4g}", *number) : "-";
}

Column metric_column(const Results& results, const std::string& name,
                     const std::string& title, int spare) {
  auto text = [&](const JobResult& r) {
    return number_text(value_of(r.metrics, name));
  };
  return {title, cells_of(results, text), true, 6, spare};
}

// The best of each, by what it goes by.
void add_best(std::vector<Column>& columns, const Results& results,
              const std::string& metric) {
  bool is_one = std::ranges::all_of(results, [&](const JobResult& r) {
    return r.best.metric.empty() || r.best.metric == metric;
  });
  auto value = [&](const JobResult& r) {
    std::string text = number_text(r.best.value);
    return is_one || !r.best.value ? text : r.best.metric + " " + text;
  };
  auto step = [](const JobResult& r) {
    return r.best.value ? std::to_string(r.best.step) : "-";
  };
  columns.push_back(
      {is_one ? "best " + metric : "best", cells_of(results, value), true, 6});
  columns.push_back({"at step", cells_of(results, step), true, 0, 1});
}

// Of weights that are not averaged.
void add_raw(std::vector<Column>& columns, const Results& results,
             const std::string& metric, int spare) {
  auto text = [&](const JobResult& r) {
    return number_text(value_of(r.raw, metric));
  };
  columns.push_back({"raw " + metric, cells_of(results, text), true, 6, spare});
}

bool any_of(const Results& results, bool (*holds)(const JobResult&)) {
  return std::ranges::any_of(results, holds);
}

std::string numbered(const JobResult& result, size_t place, size_t count) {
  size_t digits = std::to_string(count).size();
  return fmt::format("{:>{}}  {}", place, digits, result.name);
}

}  // namespace

std::string ranking_metric(const Results& results) {
  for (const JobResult& result : results) {
    if (result.best.value) return result.best.metric;
  }
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
    return place_of(result, metric);
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
  bool has_best = any_of(
      results, [](const JobResult& r) { return r.best.value.has_value(); });
  if (has_best) add_best(columns, results, metric);
  int spare = has_best ? 2 : 0;  // that of the ranking always stays
  for (const std::string& name : metrics_of(results, metric)) {
    std::string title = has_best ? "last " + name : name;
    columns.push_back(metric_column(results, name, title, spare));
    spare = spare == 0 ? 2 : spare + 1;
  }
  if (any_of(results, [](const JobResult& r) { return !r.raw.empty(); })) {
    add_raw(columns, results, metric, spare++);
  }
  columns.push_back({"state", cells_of(results, [](const auto& r) {
                       return state_text(r.state, r.is_error);
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
  auto best = std::ranges::min_element(
      results, {}, [&](const JobResult& r) { return place_of(r, metric); });
  std::string words;
  if (best != results.end() && std::isfinite(rank_of(*best, metric))) {
    words = best->best.value
                ? fmt::format("best {}: {} {:.4g} at step {}", best->name,
                              metric, *best->best.value, best->best.step)
                : fmt::format("best {}: {} {:.4g}", best->name, metric,
                              *value_of(best->metrics, metric));
  }
  return join_words({jobs, words, out});
}

}  // namespace braid::cli
