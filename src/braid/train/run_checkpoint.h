// Checkpoints of a run: every network as a plain state dict, everything else
// of the state apart from it, and the record.
#pragma once

#include <vector>

#include "braid/io/checkpoint.h"
#include "braid/io/checkpoint_writer.h"
#include "braid/runtime/state.h"
#include "braid/train/job_model.h"
#include "braid/train/run_record.h"

namespace braid::train {

// "model", or the name of one of several networks.
std::string model_file_name(const JobNetwork& network);

// Copies of what is on the device; blocks as long as copying takes.
std::vector<io::OwnedCheckpointFile> checkpoint_files(
    const runtime::State& state, const std::vector<JobNetwork>& networks);

// Fills the state. Throws std::runtime_error when the checkpoint is of another
// job.
RunRecord restore(const io::CheckpointDir& checkpoint, runtime::State& state,
                  const std::vector<JobNetwork>& networks);

}  // namespace braid::train
