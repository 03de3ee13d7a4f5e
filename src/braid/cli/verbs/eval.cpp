// `braid eval`: metrics of weights that a run has saved, on any data.
#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "braid/base/error.h"
#include "braid/cli/display/table.h"
#include "braid/cli/display/terminal.h"
#include "braid/cli/output.h"
#include "braid/cli/signals.h"
#include "braid/cli/verbs/given_weights.h"
#include "braid/cli/verbs/options.h"
#include "braid/runtime/machine.h"
#include "braid/train/run/evaluation.h"
#include "fmt/ranges.h"

namespace braid::cli {
namespace {

constexpr const char* kWho = "braid eval";

struct EvalOptions {
  GivenOptions given;
  std::vector<std::string> metrics;
  bool json = false;
};

// What came out of one job of a list, or of the only one.
struct Row {
  std::string name = {};
  int64_t step = -1;
  std::string weights = {}, words = {}, data = {};
  int64_t samples = 0;
  io::Scalars values = {};
  std::string problem = {};  // why there are none
};

nlohmann::json json_of(const Row& row) {
  auto metrics = nlohmann::json::object();
  for (const auto& [name, value] : row.values) {
    metrics[name] =
        std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
  }
  nlohmann::json json{{"name", row.name}};
  if (!row.problem.empty()) {
    json["error"] = row.problem;
    return json;
  }
  if (row.step >= 0) json["step"] = row.step;
  if (!row.weights.empty()) json["weights"] = row.weights;
  json.update({{"data", row.data},
               {"samples", row.samples},
               {"metrics", std::move(metrics)}});
  return json;
}

std::string value_text(const io::Scalars& values, const std::string& metric) {
  for (const auto& [name, value] : values) {
    if (name == metric) return fmt::format("{:.6g}", value);
  }
  return "-";
}

void print_row(const Row& row) {
  print("eval   {}{}{}\n", row.name, row.words.empty() ? "" : "  ", row.words);
  print("data   {} samples of {}\n", row.samples, row.data);
  size_t width = 0;
  for (const auto& [name, unused] : row.values) {
    width = std::max(width, name.size());
  }
  for (const auto& [name, value] : row.values) {
    print("       {:<{}}  {:.6g}\n", name, width, value);
  }
}

void print_table(const std::vector<Row>& rows) {
  std::vector<Column> columns{{"name"}, {"step", {}, true}};
  std::vector<std::string> metrics;
  for (const Row& row : rows) {
    columns[0].cells.push_back(row.name);
    columns[1].cells.push_back(row.step < 0 ? "-" : std::to_string(row.step));
    for (const auto& [name, unused] : row.values) {
      if (std::ranges::find(metrics, name) == metrics.end()) {
        metrics.push_back(name);
      }
    }
  }
  for (const std::string& metric : metrics) {
    Column column{metric, {}, true};
    for (const Row& row : rows) {
      column.cells.push_back(value_text(row.values, metric));
    }
    columns.push_back(std::move(column));
  }
  for (const std::string& line :
       table_lines(std::move(columns), terminal_width(stdout))) {
    print("{}\n", line);
  }
}

// One job after the other; they share what they open.
class Evaluator {
 public:
  explicit Evaluator(const EvalOptions& o)
      : o_(o), machine_(runtime::this_machine()), models_(*machine_) {}

  // Nothing when it was interrupted.
  std::optional<Row> evaluate(GivenWeights given) {
    if (!o_.metrics.empty()) given.config.eval.metrics = o_.metrics;
    train::JobHooks shared{.datasets = &datasets_, .models = &models_};
    open_reference(given, o_.given, shared, kWho);
    train::Evaluation evaluation(*machine_, given.config, shared);
    auto values = evaluation.run(given.file, stop_requested);
    if (!values) return std::nullopt;
    return Row{.name = given.name,
               .step = given.step,
               .weights = given.weights,
               .words = given.words,
               .data = evaluation.data().name(),
               .samples = evaluation.data().size(),
               .values = *values};
  }

 private:
  const EvalOptions& o_;
  std::unique_ptr<runtime::Machine> machine_;
  train::DatasetCache datasets_;
  train::ModelFiles models_;
};

int stopped() {
  print_error("[{}] stopped; nothing was changed\n", kWho);
  return kInterrupted;
}

int evaluate_one(const EvalOptions& o, GivenWeights given) {
  auto row = Evaluator(o).evaluate(std::move(given));
  if (!row) return stopped();
  o.json ? print("{}\n", json_of(*row).dump()) : print_row(*row);
  return kOk;
}

// A job that has saved nothing yet has no numbers, and others do.
int evaluate_all(const EvalOptions& o, const std::vector<GivenRun>& runs) {
  Evaluator evaluator(o);
  std::vector<Row> rows;
  size_t problems = 0;
  for (const GivenRun& run : runs) {
    try {
      auto row = evaluator.evaluate(open_given(o.given, run, kWho));
      if (!row) return stopped();
      rows.push_back(std::move(*row));
    } catch (const std::exception& error) {
      print_error("{}: {}\n", run.name, error.what());
      rows.push_back({.name = run.name, .problem = error.what()});
      ++problems;
    }
  }
  if (o.json) {
    auto list = nlohmann::json::array();
    for (const Row& row : rows) list.push_back(json_of(row));
    print("{}\n", list.dump());
  } else if (problems < rows.size()) {
    print_table(rows);
  }
  return problems == 0 ? kOk : kFailed;
}

int run_eval(const EvalOptions& o) {
  std::vector<GivenRun> runs = given_runs(o.given, kWho);
  watch_stop_signals();
  if (runs.empty()) return evaluate_one(o, open_given_file(o.given, kWho));
  bool is_list = runs.size() > 1 || runs[0].name != runs[0].folder;
  if (is_list) return evaluate_all(o, runs);
  return evaluate_one(o, open_given(o.given, runs[0], kWho));
}

}  // namespace

Action add_eval(CLI::App& app) {
  auto o = std::make_shared<EvalOptions>();
  declare_given(app, o->given);
  AddOption add(app);
  add("--metrics", o->metrics, "NAME,...", "Which (all that suit the model)")
      ->delimiter(',');
  app.add_flag("--json", o->json, "Print JSON, with all digits");
  app.footer(
      "Examples:\n"
      "  braid eval runs/a\n"
      "  braid eval runs/a --best --data file=new.csv\n"
      "  braid eval model.safetensors --job job.yaml --metrics loss,accuracy");
  return [o] { return run_eval(*o); };
}

}  // namespace braid::cli
