// What a job takes from another run to begin with: `init.run`.
#pragma once

#include <filesystem>

#include "braid/io/checkpoint/checkpoint.h"
#include "braid/runtime/state.h"
#include "braid/train/job/job_model.h"

namespace braid::train {

// The checkpoint that init.run, init.step and init.best say; the first call
// looks for it and reads its files, and later ones give the same, though that
// run may have gone on. Throws std::runtime_error when none is whole.
const io::CheckpointDir& init_checkpoint(const JobNetwork& network);

// The file of first weights of a network: init.file, or that of the run. Empty:
// none.
std::filesystem::path init_path(const JobNetwork& network);

// Momenta, averages and the number of updates that the run had for the
// parameters of the network, where init.optimizer asks for them. Throws when it
// has none of the kind.
void take_optimizer_state(const JobNetwork& network, runtime::State& state,
                          int64_t lane);

}  // namespace braid::train
