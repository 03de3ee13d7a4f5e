// What `braid eval` and `braid predict` begin from: weights of a run or of a
// file, the job that they are of, and data that the command line may name.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "braid/train/job/init_file.h"
#include "braid/train/job/job_config.h"
#include "braid/train/job/job_hooks.h"
#include "braid/train/run/run_weights.h"

namespace braid::cli {

struct GivenOptions {
  std::vector<std::string> words;  // DIR or WEIGHTS, then KEY=VALUE
  std::vector<std::string> data;   // KEY=VALUE, or a YAML file first
  std::string job, model;          // of WEIGHTS
  train::WeightsChoice weights;
  std::string device;
  std::optional<int64_t> batch_size, threads, limit;

  const std::string& subject() const { return words.front(); }
};

// Adds them to a verb, which borrows `options`.
void declare_given(CLI::App& app, GivenOptions& options);

// Weights, and a job whose `eval.data` are what is to be looked at where there
// are some.
struct GivenWeights {
  std::string name = {};  // of the run, or of the file
  train::JobConfig config = {};
  int64_t step = -1;         // of the checkpoint; -1: of a file
  std::string weights = {};  // "averaged", "raw"; empty: the only ones
  std::string words = {};    // about both: "step 30, averaged weights (ema)"
  // What the training was evaluated on, which had a say in sizes too.
  std::optional<train::DataConfig> evaluated = {};
  train::InitFile file;
};

// The folders that hold runs, of one or of a list: names, and where they lie.
// Nothing for a file of weights. `who` begins errors.
struct GivenRun {
  std::string name;
  std::string folder;
};
std::vector<GivenRun> given_runs(const GivenOptions& options,
                                 const std::string& who);

// Throws std::invalid_argument for what the command line can mend.
GivenWeights open_given(const GivenOptions& options, const GivenRun& run,
                        const std::string& who);
// Of a file of weights, with --job or --model.
GivenWeights open_given_file(const GivenOptions& options,
                             const std::string& who);

// Opens the data that the job was trained on, which `hooks` keep: the model has
// as many classes as these showed, whatever others show. Throws with the way to
// go without them.
void open_reference(GivenWeights& given, const GivenOptions& options,
                    const train::JobHooks& hooks, const std::string& who);

// As train::find_weights(), with its warnings on stderr.
train::RunWeights open_weights(const std::string& run,
                               const train::WeightsChoice& choice,
                               const std::string& who);

}  // namespace braid::cli
