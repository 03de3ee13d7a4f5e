#include "braid/train/run/run_weights.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "braid/base/error.h"
#include "braid/train/run/run_files.h"
#include "braid/train/run/run_record.h"
#include "fmt/ranges.h"

namespace braid::train {
namespace {

namespace fs = std::filesystem;

constexpr int kMostTries = 100;
// What the files of averaged weights end with.
constexpr const char* kAveraged = "_ema";

// A checkpoint, and in words why that one.
struct Choice {
  io::CheckpointDir checkpoint;
  std::string why = {};
};

// One look at a folder.
class Search {
 public:
  Search(const std::string& run, const WeightsChoice& choice,
         const std::string& who)
      : run_(run), choice_(choice), who_(who) {}

  RunWeights find() {
    Choice chosen = choose();
    const io::CheckpointDir& checkpoint = chosen.checkpoint;
    std::vector<std::string> known = weight_files(checkpoint);
    auto has = [&](const std::string& file) {
      return std::ranges::find(known, file) != known.end();
    };
    std::string name = choice_.network.empty() ? "model" : choice_.network;
    std::string averaged = name + kAveraged;
    bool is_averaged = choice_.ema || (!choice_.raw && has(averaged));
    std::string file = is_averaged ? averaged : name;
    if (!has(file)) fail_no_file(file, known);
    return {.step = checkpoint.step,
            .why = chosen.why,
            .name = name,
            .is_averaged = is_averaged,
            .has_both = has(name) && has(averaged),
            .path = checkpoint.file(file),
            .file = checkpoint.open(file)};
  }

  const io::NewestCheckpoint& seen() const { return seen_; }
  // Whether the run has gone on since.
  bool has_newer() const {
    auto now = io::newest_complete(checkpoints_path(run_)).checkpoint;
    return now && (!seen_.checkpoint || now->step != seen_.checkpoint->step);
  }

 private:
  io::CheckpointDir newest() {
    seen_ = io::newest_complete(checkpoints_path(run_));
    if (seen_.checkpoint) return *seen_.checkpoint;
    fail_usage(
        "[{}] '{}' holds no complete checkpoint\n"
        "HINT: give the folder of a run, as --out of 'braid train'",
        who_, run_);
  }

  Choice choose() {
    io::CheckpointDir newest = this->newest();
    if (!choice_.step && !choice_.best) return {newest};
    Choice chosen =
        choice_.best ? best_of(newest) : Choice{{*choice_.step, {}}};
    int64_t step = chosen.checkpoint.step;
    auto found = io::find_complete(checkpoints_path(run_), step);
    if (!found) {
      fail_usage(
          "[{}] '{}' has no complete checkpoint of step {}\n"
          "HINT: the newest is of step {}",
          who_, run_, step, newest.step);
    }
    chosen.checkpoint = *found;
    return chosen;
  }

  Choice best_of(const io::CheckpointDir& newest) const {
    Best best = read_record(newest.meta()).best;
    if (!best.value) fail_usage("[{}] '{}' was never evaluated", who_, run_);
    return {{best.step, {}},
            fmt::format(", best {} {:.4g}",
                        best.metric.empty() ? "evaluation" : best.metric,
                        *best.value)};
  }

  // Names of the files with weights, without their ending.
  static std::vector<std::string> weight_files(
      const io::CheckpointDir& checkpoint) {
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

  [[noreturn]] void fail_no_file(const std::string& file,
                                 const std::vector<std::string>& known) const {
    fail_usage(
        "[{}] the run has no '{}'\n"
        "HINT: it has {}; --network, --ema and --raw choose among them",
        who_, file, fmt::join(known, ", "));
  }

  const std::string& run_;
  const WeightsChoice& choice_;
  const std::string& who_;
  io::NewestCheckpoint seen_;
};

}  // namespace

std::string RunWeights::words() const {
  if (is_averaged) return ", averaged weights (ema)";
  return has_both ? ", raw weights (not averaged)" : "";
}

RunWeights find_weights(const std::string& run, const WeightsChoice& choice,
                        const std::string& who,
                        std::vector<std::string>& warnings) {
  for (int tries = 0;; ++tries) {
    Search search(run, choice, who);
    try {
      RunWeights found = search.find();
      warnings = search.seen().warnings;
      return found;
    } catch (const std::exception&) {
      if (tries < kMostTries && search.has_newer()) continue;
      warnings = search.seen().warnings;
      throw;
    }
  }
}

}  // namespace braid::train
