// Checkpoints: directories root/step-N that are complete or do not count.
//
//   root/step-1200/model.safetensors   one file per name given
//                  meta.json           whatever the caller needs to go on
//                  COMPLETE            names and sums of the files, last
//
// A checkpoint is built in root/.tmp-step-N-<pid>, brought to the disk and
// renamed, so a crash at any moment leaves the earlier ones untouched. What
// is deleted is first renamed to root/.trash-step-N-<pid>. One process at a
// time should write to a root; process ids are those of this machine.
// All functions block; none may run for one root on two threads at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "braid/io/format/safetensors.h"

namespace braid::io {

struct CheckpointFile {
  std::string name;  // without directory and extension: "model"
  std::vector<TensorBytes> tensors;
  // A file of another checkpoint that is this one too; both share its bytes
  // on the disk where that can be. Then there are no tensors.
  std::filesystem::path same_as = {};
};

// A complete checkpoint that was found.
struct CheckpointDir {
  int64_t step = 0;
  std::filesystem::path path;

  // One file, by the name it was saved under, and its tensors.
  std::filesystem::path file(std::string_view name) const;
  SafetensorsFile open(std::string_view name) const;
  nlohmann::json meta() const;
};

// Writes root/step-N; the root is created, its parent must exist. Where the
// step is complete already it is left as is: the same step has the same state.
// An incomplete one is replaced. Throws std::runtime_error when the disk is
// full or not writable; complete checkpoints stay as they are.
void save_checkpoint(const std::filesystem::path& root, int64_t step,
                     const std::vector<CheckpointFile>& files,
                     const nlohmann::json& meta);

// What a search for a checkpoint gave.
struct NewestCheckpoint {
  std::optional<CheckpointDir> checkpoint;
  // One line for each newer step that is damaged, to be shown to the user.
  std::vector<std::string> warnings;
};

// The complete checkpoint with the highest step whose files have the content
// that was written: all their bytes are read. Those that are damaged or cannot
// be read are passed over with a warning; those that another process deletes
// meanwhile do not count. No checkpoint when there is none or no root. Throws
// when the root may not be read: that is not the same as having no checkpoint.
NewestCheckpoint newest_complete(const std::filesystem::path& root);

// The checkpoint of that step, when there is one that is complete.
std::optional<CheckpointDir> find_complete(const std::filesystem::path& root,
                                           int64_t step);

// The same without a look at its files: for a step that was just saved.
CheckpointDir find_step(const std::filesystem::path& root, int64_t step);

// Deletes what killed processes and earlier failures of this one left behind.
void remove_litter(const std::filesystem::path& root);

// Whether the root has a checkpoint at all, whole or not. Throws when the root
// may not be read.
bool holds_checkpoints(const std::filesystem::path& root);

// Deletes all steps before the last `count` complete ones, oldest first; those
// of `best` stay in any case. Whether a step is complete is found by reading
// its files, unless it is among `trusted`: steps that the caller knows to be.
void keep_last(const std::filesystem::path& root, int64_t count,
               const std::vector<int64_t>& best = {},
               std::span<const int64_t> trusted = {});

}  // namespace braid::io
