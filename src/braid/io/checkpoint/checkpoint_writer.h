// CheckpointWriter: saves checkpoints in the background, so that training
// stops no longer than the copy to host memory takes.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "braid/io/checkpoint/checkpoint.h"
#include "braid/io/file/fence.h"
#include "braid/io/format/tensor_list.h"
#include "braid/io/run/trace.h"

namespace braid::io {

// A file of a checkpoint together with its content.
struct OwnedCheckpointFile {
  std::string name;  // without directory and extension: "model"
  TensorList tensors;
};

// Files of a checkpoint that are a checkpoint of their own elsewhere: that of
// one member of an array.
struct Publication {
  std::filesystem::path root;
  int64_t step = 0;
  std::map<std::string, std::string> files = {};  // name there -> name here
  std::shared_ptr<const nlohmann::json> meta = {};
  int64_t keep = 1;  // as those of the writer
  std::vector<int64_t> best = {};
};

// Owns the root's checkpoints while it lives: nothing else may write there.
// Borrows the trace and the fence, whose number stands in the meta data of what
// it writes, as "lease". All calls but saved_step() must come from one thread.
class CheckpointWriter {
 public:
  // Keeps the last `keep` checkpoints and the best. Touches nothing yet. What
  // it writes becomes events of the track "checkpoint" of a trace, if any.
  CheckpointWriter(std::filesystem::path root, int64_t keep,
                   Trace* trace = nullptr, const Fence* fence = nullptr);
  // Waits for what is being written. Its failure is not reported any more:
  // call finish() to hear of it.
  ~CheckpointWriter() = default;
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Takes the files and begins to write root/step-N, then deletes old steps
  // other than those of `best`. Waits while the save before is still being
  // written; if that one failed, throws its error, and nothing was taken or
  // begun: the same call may be made again. See save_checkpoint(). Publications
  // follow when the checkpoint is on the disk.
  void save(int64_t step, std::vector<OwnedCheckpointFile>&& files,
            const nlohmann::json& meta, std::vector<int64_t> best = {},
            std::vector<Publication> publications = {});

  // Waits until nothing is being written; throws the error of the last save.
  void finish();

  // The newest step that is on the disk by this writer. Thread-safe.
  std::optional<int64_t> saved_step() const;

 private:
  struct Work;
  void write(const Work& work);
  void save_fenced(const std::filesystem::path& root, int64_t step,
                   const std::vector<CheckpointFile>& files,
                   nlohmann::json meta) const;
  void publish(const Publication& publication, const CheckpointDir& from);
  void keep(const std::filesystem::path& root, int64_t count,
            const std::vector<int64_t>& best, int64_t written);

  std::filesystem::path root_;
  int64_t keep_;
  Trace* trace_;
  const Fence* fence_;
  // Complete, as we wrote them, by root.
  std::map<std::filesystem::path, std::vector<int64_t>> written_;
  std::atomic<int64_t> saved_step_ = -1;
  // The last: its destruction waits for a thread that uses all the others.
  std::future<void> pending_;
};

// Throws std::runtime_error for a checkpoint of somebody who took over from
// this process. Nothing where there is no fence.
void check_lease(const CheckpointDir& checkpoint, const Fence* fence);

}  // namespace braid::io
