#include "braid/train/run/results.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "braid/base/csv_cell.h"
#include "braid/base/numbers.h"
#include "braid/train/job/job_changes.h"
#include "fmt/ranges.h"

namespace braid::train {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::pair<MemberState, std::string_view>, 7> kWords = {
    {{MemberState::kWaiting, "waiting"},
     {MemberState::kTraining, "running"},
     {MemberState::kPaused, "paused"},
     {MemberState::kDone, "done"},
     {MemberState::kStoppedEarly, "stopped early"},
     {MemberState::kStopped, "stopped"},
     {MemberState::kFailed, "failed"}}};

Json number_json(std::optional<double> number) {
  bool has_one = number && std::isfinite(*number);
  return has_one ? Json(*number) : Json();
}

Json scalars_json(const io::Scalars& scalars) {
  Json json = Json::object();
  for (const auto& [name, value] : scalars) json[name] = number_json(value);
  return json;
}

// A number, a switch or a text.
Json value_json(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  if (auto whole = parse_whole(text)) return *whole;
  auto number = parse_number(text);
  if (number && std::isfinite(*number)) return *number;
  return text;
}

Json best_json(const BestReport& best) {
  if (!best.value) return nullptr;
  return {{"metric", best.metric},
          {"value", number_json(best.value)},
          {"step", best.step},
          {"higher_is_better", best.higher_is_better}};
}

Json last_json(const RunResult& run) {
  if (run.last.empty()) return nullptr;
  Json json{{"step", run.last_eval}};
  json.update(scalars_json(run.last));
  return json;
}

Json run_json(const RunResult& run) {
  Json values = Json::object();
  for (const auto& [key, text] : run.values) values[key] = value_json(text);
  Json json{{"name", run.name},
            {"state", state_word(run.state)},
            {"error", run.error.empty() ? Json() : Json(run.error)},
            {"keys", std::move(values)},
            {"step", run.step},
            {"steps", run.steps > 0 ? Json(run.steps) : Json()},
            {"seconds", number_json(run.seconds)},
            {"best", best_json(run.best)},
            {"last", last_json(run)}};
  if (!run.raw.empty()) json["raw"] = scalars_json(run.raw);
  json["train_loss"] = number_json(run.loss);
  json["folder"] = run.folder;
  return json;
}

// All metrics of any run, in the order in which they come.
std::vector<std::string> metric_names(const Results& results,
                                      io::Scalars RunResult::*of) {
  std::vector<std::string> names;
  for (const RunResult& run : results.runs) {
    for (const auto& [name, unused] : run.*of) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

std::string number_text(std::optional<double> number) {
  return number && std::isfinite(*number) ? fmt::format("{}", *number) : "";
}

std::string value_text(const io::Scalars& scalars, const std::string& name) {
  for (const auto& [known, value] : scalars) {
    if (known == name) return number_text(value);
  }
  return "";
}

using Cells = std::vector<std::string>;

std::string line_of(Cells cells) {
  for (std::string& cell : cells) cell = csv_cell(cell);
  return fmt::format("{}\n", fmt::join(cells, ","));
}

Cells cells_of(const RunResult& run, const Results& results,
               const Cells& metrics, const Cells& raw) {
  Cells cells{run.name, std::string(state_word(run.state))};
  for (const std::string& key : results.keys) {
    auto found = run.values.find(key);
    cells.push_back(found == run.values.end() ? "" : found->second);
  }
  bool has_best = run.best.value.has_value();
  cells.insert(
      cells.end(),
      {std::to_string(run.step), run.steps > 0 ? std::to_string(run.steps) : "",
       fmt::format("{:.3f}", run.seconds), run.best.metric,
       number_text(run.best.value),
       has_best ? std::to_string(run.best.step) : "",
       run.last.empty() ? "" : std::to_string(run.last_eval)});
  for (const std::string& name : metrics) {
    cells.push_back(value_text(run.last, name));
  }
  for (const std::string& name : raw) {
    cells.push_back(value_text(run.raw, name));
  }
  cells.insert(cells.end(), {number_text(run.loss), run.error, run.folder});
  return cells;
}

}  // namespace

std::string_view state_word(MemberState state) {
  for (auto [known, word] : kWords) {
    if (known == state) return word;
  }
  return "";
}

std::optional<MemberState> find_state(std::string_view word) {
  for (auto [state, known] : kWords) {
    if (known == word) return state;
  }
  return std::nullopt;
}

void add_differences(Results& results, const std::vector<JobConfig>& jobs) {
  std::set<std::string> keys;
  for (const JobConfig& job : jobs) {
    for (const KeyChange& change : job_changes(jobs[0], job)) {
      keys.insert(change.key);
    }
  }
  results.keys.assign(keys.begin(), keys.end());
  for (size_t i = 0; i < jobs.size(); ++i) {
    std::map<std::string, std::string> all = job_values(jobs[i]);
    for (const std::string& key : keys) {
      auto value = all.find(key);
      if (value != all.end()) results.runs[i].values.insert(*value);
    }
  }
}

std::string results_json(const Results& results) {
  Json runs = Json::array();
  for (const RunResult& run : results.runs) runs.push_back(run_json(run));
  Json all{{"keys", results.keys}, {"runs", std::move(runs)}};
  return all.dump(1) + "\n";
}

std::string results_csv(const Results& results) {
  Cells metrics = metric_names(results, &RunResult::last);
  Cells raw = metric_names(results, &RunResult::raw);
  Cells titles{"name", "state"};
  titles.insert(titles.end(), results.keys.begin(), results.keys.end());
  titles.insert(titles.end(), {"step", "of_steps", "seconds", "best_metric",
                               "best_value", "best_step", "last_step"});
  for (const std::string& name : metrics) titles.push_back("last_" + name);
  for (const std::string& name : raw) titles.push_back("raw_" + name);
  titles.insert(titles.end(), {"train_loss", "error", "folder"});
  std::string text = line_of(titles);
  for (const RunResult& run : results.runs) {
    text += line_of(cells_of(run, results, metrics, raw));
  }
  return text;
}

std::filesystem::path results_json_path(const std::filesystem::path& out) {
  return out / "results.json";
}

std::filesystem::path results_csv_path(const std::filesystem::path& out) {
  return out / "results.csv";
}

}  // namespace braid::train
