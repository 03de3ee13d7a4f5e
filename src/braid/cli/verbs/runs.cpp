// `braid runs`: how runs stand, best first, from what their folders hold.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "braid/base/error.h"
#include "braid/base/numbers.h"
#include "braid/base/text.h"
#include "braid/cli/display/leaderboard.h"
#include "braid/cli/display/terminal.h"
#include "braid/cli/output.h"
#include "braid/cli/verbs/options.h"
#include "braid/cli/verbs/ranked_runs.h"
#include "braid/train/job/metric_kinds.h"

namespace braid::cli {
namespace {

constexpr const char* kWho = "braid runs";

struct RunsOptions {
  std::string folder, sort;
  bool json = false, csv = false, reverse = false;
};

using train::RunResult;

std::optional<double> number_of(const io::Scalars& values,
                                const std::string& name) {
  for (const auto& [known, value] : values) {
    if (known == name) return value;
  }
  return std::nullopt;
}

// Numbers before texts, and what is missing last.
struct Place {
  int group = 2;
  double number = 0;
  std::string text = {};

  auto operator<=>(const Place&) const = default;
};

Place place_of(const RunResult& run, const std::string& key) {
  if (key == "name") return {1, 0, run.name};
  if (key == "state") return {1, 0, std::string(train::state_word(run.state))};
  if (key == "step") return {0, static_cast<double>(run.step)};
  if (key == "seconds") return {0, run.seconds};
  auto metric = key == "train_loss" ? run.loss : number_of(run.last, key);
  if (metric && *metric == *metric) {
    return {0, train::higher_is_better(key) ? -*metric : *metric};
  }
  auto value = run.values.find(key);
  if (value == run.values.end()) return {};
  auto number = parse_number(value->second);
  return number ? Place{0, *number} : Place{1, 0, value->second};
}

void check_key(const train::Results& results, const std::string& key) {
  std::vector<std::string> known{"best", "name",    "state",
                                 "step", "seconds", "train_loss"};
  for (const RunResult& run : results.runs) {
    for (const auto& [name, unused] : run.last) known.push_back(name);
  }
  known.insert(known.end(), results.keys.begin(), results.keys.end());
  if (std::ranges::find(known, key) != known.end()) return;
  std::ranges::sort(known);
  auto twice = std::ranges::unique(known);
  known.erase(twice.begin(), twice.end());
  fail_usage("[{}] --sort: there is no '{}'\nHINT: {}", kWho, key,
             name_hint(key, known));
}

void sort_runs(train::Results& results, const RunsOptions& o) {
  std::string key = o.sort.empty() ? "best" : o.sort;
  check_key(results, key);
  if (key == "best") {
    rank_runs(results);
  } else {
    std::ranges::stable_sort(results.runs, {}, [&](const RunResult& run) {
      return place_of(run, key);
    });
  }
  if (o.reverse) std::ranges::reverse(results.runs);
}

int show_runs(const RunsOptions& o) {
  train::Results results = train::read_results(o.folder);
  sort_runs(results, o);
  if (o.json) {
    print("{}", train::results_json(results));
  } else if (o.csv) {
    print("{}", train::results_csv(results));
  } else {
    std::vector<JobResult> rows = rows_of(results);
    for (const std::string& line : leaderboard_lines(rows, ranking_metric(rows),
                                                     terminal_width(stdout))) {
      print("{}\n", line);
    }
    for (const RunResult& run : results.runs) {
      if (!run.error.empty()) print("{}: {}\n", run.name, run.error);
    }
  }
  return kOk;
}

}  // namespace

Action add_runs(CLI::App& app) {
  auto o = std::make_shared<RunsOptions>();
  AddOption add(app);
  add("DIR", o->folder, " ",
      "The folder of a run, of several jobs, or of several such")
      ->required();
  add("--sort", o->sort, "KEY",
      "best, name, state, step, seconds, a metric, or a key that differs "
      "(best)");
  app.add_flag("--reverse", o->reverse, "The last first");
  CLI::Option* json = app.add_flag("--json", o->json, "Print JSON");
  app.add_flag("--csv", o->csv, "Print a table with commas")->excludes(json);
  return [o] { return show_runs(*o); };
}

}  // namespace braid::cli
