// `braid export`: weights of a run as plain state dicts.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "braid/base/error.h"
#include "braid/cli/output.h"
#include "braid/cli/verbs/options.h"
#include "braid/io/checkpoint/checkpoint.h"
#include "braid/train/run/own_files.h"
#include "braid/train/run/run_files.h"
#include "braid/train/run/run_record.h"
#include "fmt/ranges.h"

namespace braid::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kMostTries = 100;

struct ExportOptions {
  std::string run, to, network;
  std::optional<int64_t> step;
  bool best = false, ema = false, raw = false;
};

// A checkpoint, and in words why that one.
struct Choice {
  io::CheckpointDir checkpoint;
  std::string why = {};
};

void print_all(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) print_error("{}\n", line);
}

io::CheckpointDir choose_newest(const ExportOptions& o,
                                io::NewestCheckpoint& found) {
  found = io::newest_complete(train::checkpoints_path(o.run));
  if (found.checkpoint) return *found.checkpoint;
  fail_usage(
      "[braid export] '{}' holds no complete checkpoint\n"
      "HINT: give the folder of a run, as --out of 'braid train'",
      o.run);
}

Choice choose_best(const ExportOptions& o, const io::CheckpointDir& newest) {
  train::Best best = train::read_record(newest.meta()).best;
  if (!best.value) fail_usage("[braid export] '{}' was never evaluated", o.run);
  return {{best.step, {}},
          fmt::format(", best {} {:.4g}",
                      best.metric.empty() ? "evaluation" : best.metric,
                      *best.value)};
}

Choice choose(const ExportOptions& o, io::NewestCheckpoint& seen) {
  io::CheckpointDir newest = choose_newest(o, seen);
  if (!o.step && !o.best) return {newest};
  Choice choice = o.best ? choose_best(o, newest) : Choice{{*o.step, {}}};
  int64_t step = choice.checkpoint.step;
  auto found = io::find_complete(train::checkpoints_path(o.run), step);
  if (!found) {
    fail_usage(
        "[braid export] '{}' has no complete checkpoint of step {}\n"
        "HINT: the newest is of step {}",
        o.run, step, newest.step);
  }
  choice.checkpoint = *found;
  return choice;
}

// What the files of averaged weights end with.
constexpr const char* kAveraged = "_ema";

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
  std::vector<std::string> known = weight_files(checkpoint);
  auto has = [&](const std::string& file) {
    return std::ranges::find(known, file) != known.end();
  };
  std::string averaged = name + kAveraged;
  if (o.ema || (!o.raw && has(averaged))) name = averaged;
  if (has(name)) return name;
  fail_usage(
      "[braid export] the run has no '{}'\n"
      "HINT: it has {}; --network, --ema and --raw choose among them",
      name, fmt::join(known, ", "));
}

// "averaged weights (ema)"; nothing where there are no others.
std::string weights_words(const io::CheckpointDir& checkpoint,
                          const std::string& name) {
  if (name.ends_with(kAveraged)) return ", averaged weights (ema)";
  std::vector<std::string> known = weight_files(checkpoint);
  bool has_both = std::ranges::find(known, name + kAveraged) != known.end();
  return has_both ? ", raw weights (not averaged)" : "";
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

// A file of weights that is open: it can be read whatever becomes of its
// checkpoint.
struct Found {
  Choice choice;
  std::string name;   // of its file
  std::string words;  // which weights these are
  io::SafetensorsFile file;
};

Found find_weights(const ExportOptions& o, io::NewestCheckpoint& seen) {
  Choice choice = choose(o, seen);
  std::string name = choose_file(o, choice.checkpoint);
  std::string words = weights_words(choice.checkpoint, name);
  return {choice, name, words, choice.checkpoint.open(name)};
}

// Whether the run has gone on since.
bool has_newer(const ExportOptions& o, const io::NewestCheckpoint& seen) {
  auto now = io::newest_complete(train::checkpoints_path(o.run)).checkpoint;
  return now && (!seen.checkpoint || now->step != seen.checkpoint->step);
}

// A run that goes on deletes old checkpoints: where one vanished meanwhile,
// there is a newer one to look from.
Found find_weights(const ExportOptions& o) {
  for (int tries = 0;; ++tries) {
    io::NewestCheckpoint seen;
    try {
      Found found = find_weights(o, seen);
      print_all(seen.warnings);
      return found;
    } catch (const std::exception&) {
      if (tries < kMostTries && has_newer(o, seen)) continue;
      print_all(seen.warnings);
      throw;
    }
  }
}

int run_export(const ExportOptions& o) {
  if (o.ema && o.raw) {
    fail_usage("[braid export] --ema and --raw exclude each other");
  }
  Found found = find_weights(o);
  std::string name = found.name;
  if (!o.ema && name.ends_with(kAveraged)) {
    name.resize(name.size() - std::string_view(kAveraged).size());
  }
  fs::path to = choose_target(o, name);
  io::write_safetensors(to, found.file.tensors());
  found.file.check();
  print("done   step {}{}{}, {} tensors  {}\n", found.choice.checkpoint.step,
        found.choice.why, found.words, found.file.tensors().size(),
        to.string());
  return kOk;
}

}  // namespace

Action add_export(CLI::App& app) {
  auto o = std::make_shared<ExportOptions>();
  AddOption add(app);
  add("DIR", o->run, " ", "The folder of a run")->required();
  add("--to", o->to, "FILE", "The file to write (model.safetensors)");
  add("--step", o->step, "N", "Of which checkpoint (the newest)");
  app.add_flag("--best", o->best, "Of the best evaluation");
  add("--network", o->network, "NAME", "Of a job with several");
  app.add_flag("--ema", o->ema, "The averaged weights (where there are some)");
  app.add_flag("--raw", o->raw, "The weights themselves, not averaged");
  return [o] { return run_export(*o); };
}

}  // namespace braid::cli
