// The directory of a run:
//
//   OUT/config.yaml             the job with all defaults
//       data.json               how its source reads data, where it learned it
//                               from those of training (data/known_fields.h)
//       metrics.jsonl           numbers, one JSON object per line
//       classes.csv             of the last evaluation, with eval.tables
//       confusion.csv
//       log.txt                 what the run said
//       events.out.tfevents.*   the numbers for TensorBoard
//       checkpoints/step-N/     model.safetensors, state.safetensors, meta.json
//
// Other tools may rely on these names.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "braid/data/dataset.h"
#include "braid/io/checkpoint/checkpoint_writer.h"
#include "braid/io/run/event_file.h"
#include "braid/io/run/log_file.h"
#include "braid/io/run/metrics.h"
#include "braid/io/run/trace.h"
#include "braid/train/job/job_config.h"
#include "braid/train/run/class_counts.h"

namespace braid::train {

// Names within a run's directory.
std::filesystem::path config_path(const std::filesystem::path& out);
std::filesystem::path data_path(const std::filesystem::path& out);
std::filesystem::path metrics_path(const std::filesystem::path& out);
std::filesystem::path log_path(const std::filesystem::path& out);
std::filesystem::path classes_path(const std::filesystem::path& out);
std::filesystem::path confusion_path(const std::filesystem::path& out);
std::filesystem::path checkpoints_path(const std::filesystem::path& out);

// Whether there is a run in the directory.
bool holds_run(const std::filesystem::path& out);

// Whether there is a run that saved no checkpoint: it failed or was killed
// before the first. A new run may have its directory.
bool holds_unsaved_run(const std::filesystem::path& out);

// Deletes what such a run wrote, but for its log and files of others.
void clear_unsaved_run(const std::filesystem::path& out);

// Throws when a new run cannot have the directory: it holds a run that saved
// something, or other files. Changes nothing.
void check_free(const std::filesystem::path& out);

// Creates the directory of a new run with its config; a run that saved nothing
// is replaced, but for its log. Throws as check_free(), or when it cannot be
// written; then nothing is left there.
void create_run(const std::filesystem::path& out, const JobConfig& config);

// Writes data.json where the fields of the training data have something to
// keep, unless it is there already.
void keep_known(const std::filesystem::path& out,
                const std::vector<data::Field>& fields);

// The files of a run that goes on after `step`: what came later is cut away.
// Each call asks the fence first, which is borrowed and may be null.
class RunFiles {
 public:
  RunFiles(const std::filesystem::path& out, const CheckpointConfig& config,
           int64_t step, io::Trace* trace, const io::Fence* fence = nullptr);

  // A line of metrics and the same numbers for TensorBoard.
  void add(const io::MetricsRow& row);
  // Tables of an evaluation, which take the place of those before. `names` are
  // those of the classes, where there are some.
  void add_tables(int64_t step, const std::vector<std::string>& tables,
                  const ClassCounts& counts,
                  const std::vector<std::string>& names);
  // For comparisons of runs in TensorBoard.
  void add_hparams(int64_t step, const io::Hparams& values) {
    check_fence();
    events_.add_hparams(step, values);
  }
  void add_end(int64_t step, bool succeeded) {
    check_fence();
    events_.add_end(step, succeeded);
  }
  void log(std::string_view text) {
    check_fence();
    log_.add(text);
  }
  io::CheckpointWriter& checkpoints() { return checkpoints_; }

  // Everything is on the disk.
  void sync();

 private:
  void check_fence() const {
    if (fence_) fence_->check();
  }

  const io::Fence* fence_;
  std::filesystem::path out_;
  io::LogFile log_;
  io::MetricsFile metrics_;
  io::EventFile events_;
  io::CheckpointWriter checkpoints_;
};

}  // namespace braid::train
