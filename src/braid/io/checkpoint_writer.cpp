#include "braid/io/checkpoint_writer.h"

#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "braid/base/error.h"
#include "braid/io/checkpoint.h"

namespace braid::io {

using Json = nlohmann::json;

struct CheckpointWriter::Work {
  int64_t step;
  std::vector<OwnedCheckpointFile> files;
  Json meta;
  std::optional<int64_t> best;
};

CheckpointWriter::CheckpointWriter(std::filesystem::path root, int64_t keep,
                                   Trace* trace)
    : root_(std::move(root)), keep_(keep), trace_(trace) {
  if (keep < 1) {
    fail_usage("[checkpoint.keep] expected at least 1, got {}", keep);
  }
}

void CheckpointWriter::save(int64_t step,
                            std::vector<OwnedCheckpointFile>&& files,
                            const Json& meta, std::optional<int64_t> best) {
  finish();
  Work work{step, std::move(files), meta, best};
  pending_ = std::async(std::launch::async,
                        [this, work = std::move(work)] { write(work); });
}

void CheckpointWriter::finish() {
  if (pending_.valid()) pending_.get();
}

std::optional<int64_t> CheckpointWriter::saved_step() const {
  int64_t step = saved_step_;
  return step < 0 ? std::nullopt : std::optional(step);
}

void CheckpointWriter::write(const Work& work) {
  TraceSpan span(trace_, "checkpoint", "checkpoint",
                 fmt::format("step {}", work.step));
  std::vector<CheckpointFile> files;
  for (const OwnedCheckpointFile& file : work.files) {
    files.push_back({file.name, file.tensors.tensors()});
  }
  remove_litter(root_);
  save_checkpoint(root_, work.step, files, work.meta);
  written_.push_back(work.step);
  saved_step_ = work.step;
  keep_last(root_, keep_, work.best, written_);
  if (std::ssize(written_) > keep_) written_.erase(written_.begin());
}

}  // namespace braid::io
