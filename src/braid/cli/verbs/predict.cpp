// `braid predict`: what a model with weights of a run says about data.
#include <CLI/CLI.hpp>
#include <memory>

#include "braid/base/error.h"
#include "braid/cli/output.h"
#include "braid/cli/signals.h"
#include "braid/cli/verbs/given_weights.h"
#include "braid/cli/verbs/options.h"
#include "braid/runtime/machine.h"
#include "braid/train/run/own_files.h"
#include "braid/train/run/prediction_file.h"

namespace braid::cli {
namespace {

constexpr const char* kWho = "braid predict";

struct PredictOptions {
  GivenOptions given;
  std::string to, output;
  int64_t top = 0;
};

GivenWeights open_one(const PredictOptions& o) {
  std::vector<GivenRun> runs = given_runs(o.given, kWho);
  if (runs.empty()) return open_given_file(o.given, kWho);
  bool is_list = runs.size() > 1 || runs[0].name != runs[0].folder;
  if (is_list) {
    fail_usage(
        "[{}] '{}' holds several jobs\n"
        "HINT: give the folder of one, as {}; 'braid runs' ranks them",
        kWho, o.given.subject(), runs[0].folder);
  }
  return open_given(o.given, runs[0], kWho);
}

std::string outputs_text(const std::vector<train::PredictedOutput>& outputs) {
  std::string text;
  for (const train::PredictedOutput& output : outputs) {
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", output.name,
                        dtype_name(output.dtype), shape_text(output.shape));
  }
  return text;
}

int run_predict(const PredictOptions& o) {
  if (o.to.empty()) {
    fail_usage(
        "[{}] --to FILE is missing\n"
        "HINT: predictions are written as .npy, .safetensors or .csv",
        kWho);
  }
  if (o.top < 0) fail_usage("[{}] --top is from 1, not {}", kWho, o.top);
  train::check_prediction_name(o.to);
  train::check_not_of_run(o.to, o.given.subject());
  GivenWeights given = open_one(o);
  const train::JobConfig& config = given.config;
  if (!config.eval.data && !config.data.split) {
    fail_usage(
        "[{}] the job has no data but those of training\n"
        "HINT: name some, as --data source=csv file=new.csv",
        kWho);
  }
  watch_stop_signals();
  auto machine = runtime::this_machine();
  train::DatasetCache datasets;
  train::JobHooks shared{.datasets = &datasets};
  open_reference(given, o.given, shared, kWho);
  train::Prediction prediction(*machine, given.config,
                               {.data = config.eval.data.value_or(config.data),
                                .output = o.output,
                                .limit = given.config.eval.limit.value_or(0),
                                .top = o.top},
                               given.file, shared);
  const data::Dataset& data = prediction.data();
  auto file =
      train::create_prediction_file(o.to, prediction.outputs(), data.size());
  bool is_whole = prediction.run(
      [&](const data::Batch& batch, const train::Prediction::Rows& rows) {
        file->add(data, batch, rows);
        return !stop_requested();
      });
  if (!is_whole) {
    print_error("[{}] stopped; nothing was written\n", kWho);
    return kInterrupted;
  }
  file->finish();
  print("done   {}{}{} samples of {}: {}  {}\n", given.words,
        given.words.empty() ? "" : ", ", data.size(), data.name(),
        outputs_text(prediction.outputs()), o.to);
  return kOk;
}

}  // namespace

Action add_predict(CLI::App& app) {
  auto o = std::make_shared<PredictOptions>();
  declare_given(app, o->given);
  AddOption add(app);
  add("--to", o->to, "FILE", "To write: .npy, .safetensors or .csv");
  add("--output", o->output, "NAME", "Of the model (all)");
  add.whole("--top", o->top, "K", "The K classes with the highest scores");
  app.footer(
      "Examples:\n"
      "  braid predict runs/a --data file=new.csv label= --to new.csv\n"
      "  braid predict runs/a --best --output logits --to logits.npy\n"
      "  braid predict runs/a --top 3 --to best.csv");
  return [o] { return run_predict(*o); };
}

}  // namespace braid::cli
