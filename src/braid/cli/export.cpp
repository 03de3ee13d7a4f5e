// `braid export`: weights of a run as plain state dicts.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "braid/base/error.h"
#include "braid/cli/verb.h"
#include "braid/io/checkpoint.h"
#include "braid/train/run_files.h"

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
    fmt::print(stderr, "{}\n", warning);
  }
  if (!found.checkpoint) {
    fail_usage("[braid export] '{}' holds no complete checkpoint", o.run);
  }
  if (!o.step && !o.best) return *found.checkpoint;
  int64_t step = o.step.value_or(0);
  if (o.best) {
    auto best = found.checkpoint->meta().at("best");
    if (best.at("value").is_null()) {
      fail_usage("[braid export] '{}' was never evaluated", o.run);
    }
    step = best.at("step");
  }
  auto chosen = io::find_complete(root, step);
  if (!chosen) {
    fail_usage("[braid export] '{}' has no complete checkpoint of step {}",
               o.run, step);
  }
  return *chosen;
}

int run_export(const ExportOptions& o) {
  io::CheckpointDir checkpoint = choose(o);
  std::string name = o.network.empty() ? "model" : o.network;
  if (o.ema) name += "_ema";
  io::SafetensorsFile file = checkpoint.open(name);
  fs::path to = o.to.empty() ? fs::path(name + ".safetensors") : fs::path(o.to);
  io::write_safetensors(to, file.tensors());
  fmt::print("done   step {}, {} tensors  {}\n", checkpoint.step,
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
