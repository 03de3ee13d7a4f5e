// Checkpoints of a run: every network as a plain state dict, everything else
// of the state apart from it, and the record.
#pragma once

#include <vector>

#include "braid/io/checkpoint/checkpoint.h"
#include "braid/io/checkpoint/checkpoint_writer.h"
#include "braid/runtime/state.h"
#include "braid/train/job/job_model.h"
#include "braid/train/run/member_run.h"

namespace braid::train {

// "model", or the name of one of several networks.
std::string model_file_name(const JobNetwork& network);

// Names of the files of a checkpoint.
std::vector<std::string> checkpoint_file_names(
    const std::vector<JobNetwork>& networks);

// Copies of what is on the device; blocks as long as copying takes. Of an array
// the member in that lane, as it would be alone.
std::vector<io::OwnedCheckpointFile> checkpoint_files(
    const runtime::State& state, const std::vector<JobNetwork>& networks,
    int64_t lane = 0);

// Fills the state, of an array the lane. `prefix` is what names of files begin
// with. Throws std::runtime_error when the checkpoint is of another job.
void restore_state(const io::CheckpointDir& checkpoint, runtime::State& state,
                   const std::vector<JobNetwork>& networks, int64_t lane = 0,
                   const std::string& prefix = "");

// The same of a whole array in two files, each slot as it is stored: [B, ...].
std::vector<io::OwnedCheckpointFile> whole_files(const runtime::State& state);
void restore_whole(const io::CheckpointDir& checkpoint, runtime::State& state);

// The newest whole checkpoint, if there is one; throws when all that exist are
// damaged.
io::NewestCheckpoint newest_checkpoint(const std::filesystem::path& root);

// Removes what killed processes left. Of a run that has ended also the
// checkpoints that are too many: nothing will be written that would delete
// them.
void tidy_checkpoints(const MemberRun& member);

}  // namespace braid::train
