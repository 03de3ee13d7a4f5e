// `braid export`: weights of a run as plain state dicts.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <string_view>

#include "braid/base/error.h"
#include "braid/cli/output.h"
#include "braid/cli/verbs/given_weights.h"
#include "braid/cli/verbs/options.h"
#include "braid/cli/verbs/ranked_runs.h"
#include "braid/train/job/job_folder.h"
#include "braid/train/run/own_files.h"

namespace braid::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWho = "braid export";

struct ExportOptions {
  std::string run, to;
  train::WeightsChoice weights;
};

// Whoever writes so expects torch.save, or has the model's own file in mind.
void check_format(const fs::path& to) {
  constexpr std::array<std::string_view, 7> kOthers = {
      ".pt2", ".pt", ".pth", ".ckpt", ".bin", ".npy", ".npz"};
  if (std::ranges::find(kOthers, to.extension().string()) == kOthers.end()) {
    return;
  }
  fail_usage(
      "[braid export] weights are written as safetensors, and '{}' is a name "
      "of another format\n"
      "HINT: --to {}, which load_file() of safetensors.torch reads",
      to.string(), fs::path(to).replace_extension(".safetensors").string());
}

// A name that was not given must not replace anything.
fs::path choose_target(const ExportOptions& o, const std::string& name) {
  if (!o.to.empty()) {
    check_format(o.to);
    train::check_not_of_run(o.to, o.run);
    return o.to;
  }
  fs::path target = name + ".safetensors";
  if (!fs::exists(fs::symlink_status(target))) return target;
  fail_usage(
      "[braid export] '{}' is there already\n"
      "HINT: name a file that may be replaced, as --to {}",
      target.string(), target.string());
}

// The best of several jobs.
std::string run_of_list(const ExportOptions& o) {
  if (o.weights.best) return best_run(o.run, kWho).folder;
  fail_usage(
      "[{}] '{}' holds several jobs\n"
      "HINT: --best takes the best of them, which 'braid runs {}' ranks first; "
      "or give the folder of one",
      kWho, o.run, o.run);
}

int run_export(const ExportOptions& o) {
  const train::WeightsChoice& choice = o.weights;
  if (choice.ema && choice.raw) {
    fail_usage("[braid export] --ema and --raw exclude each other");
  }
  std::string run = o.run, of;
  if (train::holds_jobs(o.run)) {
    run = run_of_list(o);
    of = fmt::format("{}, ", fs::path(run).filename().string());
  }
  train::RunWeights found = open_weights(run, choice, kWho);
  // Averages that nobody asked for by name have that of the weights.
  fs::path to =
      choose_target(o, choice.ema ? found.path.stem().string() : found.name);
  io::write_safetensors(to, found.file.tensors());
  found.file.check();
  print("done   {}step {}{}{}, {} tensors  {}\n", of, found.step, found.why,
        found.words(), found.file.tensors().size(), to.string());
  return kOk;
}

}  // namespace

Action add_export(CLI::App& app) {
  auto o = std::make_shared<ExportOptions>();
  AddOption add(app);
  add("DIR", o->run, " ", "Folder of a run, or with --best of several jobs")
      ->required();
  add("--to", o->to, "FILE", "The file to write (model.safetensors)");
  add("--step", o->weights.step, "N", "Of which checkpoint (the newest)");
  app.add_flag("--best", o->weights.best, "Of the best evaluation");
  add("--network", o->weights.network, "NAME", "Of a job with several");
  app.add_flag("--ema", o->weights.ema,
               "The averaged weights (where there are some)");
  app.add_flag("--raw", o->weights.raw, "The weights themselves, not averaged");
  return [o] { return run_export(*o); };
}

}  // namespace braid::cli
