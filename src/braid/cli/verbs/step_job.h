// StepJob: all that a `step` run needs, read and checked before anything is
// built or written.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "braid/cli/inputs.h"
#include "braid/cli/verbs/step_options.h"
#include "braid/runtime/machine.h"
#include "braid/train/job/exported_model.h"
#include "braid/train/job/model_state.h"
#include "braid/train/trainer.h"

namespace braid::cli {

struct JobMember {
  int64_t seed = 0;
  std::shared_ptr<const train::InitFile> init = {};  // null: by the seed
  // Set after initialising, in order; later ones count.
  std::vector<std::pair<std::string, double>> values = {};
};

struct StepJob {
  Graph forward;
  train::TrainerOptions trainer;
  std::vector<JobMember> members;  // a single one for one model
  std::shared_ptr<const train::FirstContents> contents;  // of a .pt2 file
  std::vector<std::string> initialised;  // patterns of --init-weights
  Feed feed;
  DeviceId device;
  int64_t limit_bytes = 0;
  int64_t steps = 0;
  int64_t checkpoint_every = 0;
  // What the results depend on. Steps, checkpoints, limit and plan are left
  // out: they may change when a run goes on.
  nlohmann::json arguments;

  bool is_array() const { return trainer.members > 0; }
  bool has_limit() const;
};

StepJob read_job(const runtime::Machine& machine, const StepOptions& options);

// Fills a new trainer's state as the members want it.
// What the members' seeds do not change about their first weights; empty: there
// is nothing to say.
std::string shared_words(const StepJob& job);

void initialise(const StepJob& job, train::Trainer& trainer);

}  // namespace braid::cli
