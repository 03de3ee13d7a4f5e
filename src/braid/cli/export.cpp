// `braid export`: weights of a run as plain state dicts.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "braid/base/error.h"
#include "braid/cli/output.h"
#include "braid/cli/verb.h"
#include "braid/io/checkpoint.h"
#include "braid/train/own_files.h"
#include "braid/train/run_files.h"
#include "braid/train/run_record.h"
#include "fmt/ranges.h"

namespace braid::cli {
namespace {

namespace fs = std::filesystem;

struct ExportOptions {
  std::string run, to, network;
  std::optional<int64_t> step;
  bool best = false, ema = false;
};

io::CheckpointDir choose(const ExportOptions& o) {
  fs::path root = train::checkpoints_path(o.run);
  io::NewestCheckpoint found = io::newest_complete(root);
  for (const std::string& warning : found.warnings) {
    print_error("{}\n", warning);
  }
  if (!found.checkpoint) {
    fail_usage(
        "[braid export] '{}' holds no complete checkpoint\n"
        "HINT: give the folder of a run, as --out of 'braid train'",
        o.run);
  }
  if (!o.step && !o.best) return *found.checkpoint;
  int64_t step = o.step.value_or(0);
  if (o.best) {
    train::Best best = train::read_record(found.checkpoint->meta()).best;
    if (!best.value) {
      fail_usage("[braid export] '{}' was never evaluated", o.run);
    }
    step = best.step;
  }
  auto chosen = io::find_complete(root, step);
  if (!chosen) {
    fail_usage(
        "[braid export] '{}' has no complete checkpoint of step {}\n"
        "HINT: the newest is of step {}",
        o.run, step, found.checkpoint->step);
  }
  return *chosen;
}

// Names of the files with weights, without their ending.
std::vector<std::string> weight_files(const io::CheckpointDir& checkpoint) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(checkpoint.path)) {
    std::string name = entry.path().stem().string();
    bool holds_weights =
        entry.path().extension() == ".safetensors" && name != "state";
    if (holds_weights) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

std::string choose_file(const ExportOptions& o,
                        const io::CheckpointDir& checkpoint) {
  std::string name = o.network.empty() ? "model" : o.network;
  if (o.ema) name += "_ema";
  std::vector<std::string> known = weight_files(checkpoint);
  if (std::ranges::find(known, name) != known.end()) return name;
  fail_usage(
      "[braid export] the run has no '{}'\n"
      "HINT: it has {}; --network and --ema choose among them",
      name, fmt::join(known, ", "));
}

// A name that was not given must not replace anything.
fs::path choose_target(const ExportOptions& o, const std::string& name) {
  if (!o.to.empty()) {
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

int run_export(const ExportOptions& o) {
  io::CheckpointDir checkpoint = choose(o);
  std::string name = choose_file(o, checkpoint);
  io::SafetensorsFile file = checkpoint.open(name);
  fs::path to = choose_target(o, name);
  io::write_safetensors(to, file.tensors());
  file.check();
  print("done   step {}, {} tensors  {}\n", checkpoint.step,
        file.tensors().size(), to.string());
  return kOk;
}

}  // namespace

Action add_export(CLI::App& app) {
  auto o = std::make_shared<ExportOptions>();
  app.add_option("DIR", o->run, "The folder of a run")
      ->type_name(" ")
      ->required();
  app.add_option("--to", o->to, "The file to write (model.safetensors)")
      ->type_name("FILE");
  app.add_option("--step", o->step, "Of which checkpoint (the newest)")
      ->type_name("N");
  app.add_flag("--best", o->best, "Of the best evaluation");
  app.add_option("--network", o->network, "Of a job with several")
      ->type_name("NAME");
  app.add_flag("--ema", o->ema, "The averaged weights");
  return [o] { return run_export(*o); };
}

}  // namespace braid::cli
