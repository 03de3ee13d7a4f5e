#include "braid/cli/verbs/given_weights.h"

#include <filesystem>

#include "braid/base/error.h"
#include "braid/cli/data_words.h"
#include "braid/cli/output.h"
#include "braid/cli/verbs/options.h"
#include "braid/train/job/job_data.h"
#include "braid/train/job/job_file.h"
#include "braid/train/job/job_folder.h"
#include "braid/train/job/model_file.h"
#include "braid/train/run/run_files.h"

namespace braid::cli {
namespace {

namespace fs = std::filesystem;

// Values over the job, as its file would say them.
std::vector<std::string> overrides_of(const GivenOptions& o,
                                      const std::string& who) {
  std::vector<std::string> overrides;
  for (size_t i = 1; i < o.words.size(); ++i) {
    if (o.words[i].find('=') == std::string::npos) {
      fail_usage(
          "[{}] '{}' was not expected\n"
          "HINT: behind the run stand values of its job, as device=cuda",
          who, o.words[i]);
    }
    overrides.push_back(o.words[i]);
  }
  if (!o.device.empty()) overrides.push_back("device=" + o.device);
  if (o.threads) overrides.push_back(fmt::format("threads={}", *o.threads));
  if (o.batch_size) {
    overrides.push_back(fmt::format("eval.batch_size={}", *o.batch_size));
  }
  return overrides;
}

// The job looks at the data that are named, and at all of them.
void set_data(GivenWeights& given, const GivenOptions& o,
              const std::string& who) {
  train::JobConfig& config = given.config;
  train::resolve_data_paths(config);
  auto own = given.evaluated = train::evaluated_data(config);
  if (!o.data.empty()) {
    train::DataConfig like = own.value_or(config.data);
    like.split.reset();  // of other data all are looked at
    config.eval.data = read_data_words(o.data, like, who);
    config.eval.limit.reset();
  } else if (own) {
    config.eval.data = own;
  }
  if (o.limit) config.eval.limit = o.limit;
}

void refuse_file_options(const GivenOptions& o, const std::string& who) {
  if (o.job.empty() && o.model.empty()) return;
  fail_usage(
      "[{}] --job and --model are for a file of weights; '{}' knows its job\n"
      "HINT: values behind it count over the job's, as batch_size=8",
      who, o.subject());
}

// A job that is only a model and the data it looks at.
train::JobConfig model_job(const GivenOptions& o, const std::string& who) {
  if (o.data.empty()) {
    fail_usage(
        "[{}] --model needs data\n"
        "HINT: name some, as --data source=csv file=test.csv",
        who);
  }
  train::DataConfig data = read_data_words(o.data, {}, who);
  std::vector<std::string> overrides{"model=" + o.model};
  for (std::string& word : overrides_of(o, who)) overrides.push_back(word);
  train::JobConfig config = train::parse_job(
      "{epochs: 1, model: mlp, data: {source: glyphs}}", "--model", overrides);
  config.data = config.eval.data.emplace(std::move(data));
  config.eval.limit = o.limit;
  return config;
}

}  // namespace

void declare_given(CLI::App& app, GivenOptions& o) {
  AddOption add(app);
  add("DIR", o.words, " ",
      "The folder of a run, or a .safetensors file; values of its job: "
      "device=cuda")
      ->required();
  add("--data", o.data, "KEY=VALUE...",
      "Data, as source=csv file=test.csv, or a YAML file; without 'source' "
      "other options of the job's own");
  add("--job", o.job, "FILE", "The job that a .safetensors file is of");
  add("--model", o.model, "MODEL", "The same, as a model alone");
  add("--step", o.weights.step, "N", "Of which checkpoint (the newest)");
  app.add_flag("--best", o.weights.best, "Of the best evaluation");
  app.add_flag("--raw", o.weights.raw, "The weights themselves, not averaged");
  app.add_flag("--ema", o.weights.ema,
               "The averaged weights (where there are some)");
  add("--batch-size", o.batch_size, "N", "Rows at once (as in the job)");
  add("--limit", o.limit, "N", "Only the first samples")
      ->check(CLI::PositiveNumber);
  add("--device", o.device, "cpu|cuda:N", "Where to compute (as in the job)");
  add("--threads", o.threads, "N", "Most threads (as in the job)");
}

train::RunWeights open_weights(const std::string& run,
                               const train::WeightsChoice& choice,
                               const std::string& who) {
  std::vector<std::string> warnings;
  auto say = [&] {
    for (const std::string& line : warnings) print_error("{}\n", line);
  };
  try {
    train::RunWeights found = train::find_weights(run, choice, who, warnings);
    say();
    return found;
  } catch (...) {
    say();
    throw;
  }
}

std::vector<GivenRun> given_runs(const GivenOptions& o,
                                 const std::string& who) {
  if (o.weights.ema && o.weights.raw) {
    fail_usage("[{}] --ema and --raw exclude each other", who);
  }
  if (o.weights.best && o.weights.step) {
    fail_usage("[{}] --best and --step exclude each other", who);
  }
  const std::string& subject = o.subject();
  if (train::holds_jobs(subject)) {
    refuse_file_options(o, who);
    std::vector<GivenRun> runs;
    for (const train::NamedJob& job : train::read_job_folder(subject).jobs) {
      runs.push_back({job.name, (fs::path(subject) / job.name).string()});
    }
    return runs;
  }
  if (train::holds_run(subject)) {
    refuse_file_options(o, who);
    return {{subject, subject}};
  }
  std::error_code ignored;
  if (fs::is_regular_file(subject, ignored)) return {};
  fail_usage(
      "[{}] '{}' holds no run, and is no file of weights\n"
      "HINT: give the folder of a run, as --out of 'braid train', with --step "
      "N for one of its checkpoints, or a .safetensors file with --job "
      "JOB.yaml",
      who, subject);
}

GivenWeights open_given(const GivenOptions& o, const GivenRun& run,
                        const std::string& who) {
  train::RunWeights found = open_weights(run.folder, o.weights, who);
  GivenWeights given{
      .name = run.name,
      .config =
          train::read_job(train::config_path(run.folder), overrides_of(o, who)),
      .step = found.step,
      .weights = !found.has_both && !found.is_averaged ? ""
                 : found.is_averaged                   ? "averaged"
                                                       : "raw",
      .words = fmt::format("step {}{}{}", found.step, found.why, found.words()),
      .file = {found.path.string(), std::move(found.file)}};
  set_data(given, o, who);
  return given;
}

GivenWeights open_given_file(const GivenOptions& o, const std::string& who) {
  if (o.job.empty() == o.model.empty()) {
    fail_usage(
        "[{}] '{}' is a file of weights, of which model?\n"
        "HINT: name the job that it is of, as --job JOB.yaml, or a model, as "
        "--model 'mlp(classes=3)'",
        who, o.subject());
  }
  if (o.weights.step || o.weights.best || o.weights.ema || o.weights.raw) {
    fail_usage(
        "[{}] --step, --best, --ema and --raw choose weights of a run; '{}' is "
        "a file",
        who, o.subject());
  }
  GivenWeights given{.name = o.subject(), .file = train::InitFile(o.subject())};
  if (o.job.empty()) {
    given.config = model_job(o, who);
    return given;
  }
  given.config = train::read_job(o.job, overrides_of(o, who));
  set_data(given, o, who);
  return given;
}

void open_reference(GivenWeights& given, const GivenOptions& o,
                    const train::JobHooks& hooks, const std::string& who) {
  train::JobConfig& config = given.config;
  std::map<std::string, int64_t> classes;
  auto look_at = [&](const train::DataConfig& data) {
    train::JobData seen{.train = train::open_unchanged(config, data, hooks),
                        .eval = nullptr,
                        .inputs = config.inputs};
    for (const data::Field& field : seen.train->fields()) {
      if (field.classes == 0) continue;
      int64_t& most = classes[seen.argument(field.name)];
      most = std::max(most, field.classes);
    }
  };
  try {
    look_at(config.data);
  } catch (const std::exception& error) {
    if (!o.model.empty()) throw;
    ErrorParts parts = parts_of(error);
    parts.text = "the data of training: " + parts.text;
    parts.hint += fmt::format(
        "{}they tell which label has which number; without them: {} "
        "WEIGHTS.safetensors --model '{}' --data ...",
        parts.hint.empty() ? "" : "\nHINT: ", who, given.config.model);
    throw WorldError(std::move(parts));
  }
  try {
    if (given.evaluated) look_at(*given.evaluated);
  } catch (const std::exception&) {
    // Weights of other sizes will be told.
  }
  config.model = train::with_classes(config.model, classes);
}

}  // namespace braid::cli
