#include "braid/io/checkpoint/checkpoint_writer.h"

#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "braid/base/error.h"
#include "braid/io/checkpoint/checkpoint.h"

namespace braid::io {

using Json = nlohmann::json;

namespace {

constexpr const char* kLeaseKey = "lease";

}  // namespace

struct CheckpointWriter::Work {
  int64_t step;
  std::vector<OwnedCheckpointFile> files;
  Json meta;
  std::vector<int64_t> best;
  std::vector<Publication> publications;
};

CheckpointWriter::CheckpointWriter(std::filesystem::path root, int64_t keep,
                                   Trace* trace, const Fence* fence)
    : root_(std::move(root)), keep_(keep), trace_(trace), fence_(fence) {
  if (keep < 1) {
    fail_usage("[checkpoint.keep] expected at least 1, got {}", keep);
  }
}

void CheckpointWriter::save(int64_t step,
                            std::vector<OwnedCheckpointFile>&& files,
                            const Json& meta, std::vector<int64_t> best,
                            std::vector<Publication> publications) {
  finish();
  Work work{step, std::move(files), meta, std::move(best),
            std::move(publications)};
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
  save_fenced(root_, work.step, files, work.meta);
  saved_step_ = work.step;
  keep(root_, keep_, work.best, work.step);
  if (work.publications.empty()) return;
  CheckpointDir from = find_step(root_, work.step);
  for (const Publication& p : work.publications) publish(p, from);
}

void CheckpointWriter::save_fenced(const std::filesystem::path& root,
                                   int64_t step,
                                   const std::vector<CheckpointFile>& files,
                                   Json meta) const {
  if (fence_) {
    fence_->check();
    meta[kLeaseKey] = fence_->number();
  }
  remove_litter(root);
  save_checkpoint(root, step, files, meta);
}

void CheckpointWriter::publish(const Publication& p,
                               const CheckpointDir& from) {
  std::vector<CheckpointFile> files;
  for (const auto& [there, here] : p.files) {
    files.push_back({there, {}, from.file(here)});
  }
  save_fenced(p.root, p.step, files, *p.meta);
  keep(p.root, p.keep, p.best, p.step);
}

void CheckpointWriter::keep(const std::filesystem::path& root, int64_t count,
                            const std::vector<int64_t>& best, int64_t written) {
  if (fence_) fence_->check();
  std::vector<int64_t>& trusted = written_[root];
  trusted.push_back(written);
  keep_last(root, count, best, trusted);
  if (std::ssize(trusted) > count) trusted.erase(trusted.begin());
}

void check_lease(const CheckpointDir& checkpoint, const Fence* fence) {
  if (!fence) return;
  Json meta = checkpoint.meta();
  bool has_number =
      meta.contains(kLeaseKey) && meta[kLeaseKey].is_number_integer();
  if (!has_number) return;
  auto number = meta[kLeaseKey].get<int64_t>();
  if (number <= fence->number()) return;
  fail_world("[checkpoint] '{}' is of lease {}, and this process has lease {}",
             checkpoint.path.string(), number, fence->number());
}

}  // namespace braid::io
