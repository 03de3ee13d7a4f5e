// JobHooks: what a program gives to a job that no file can say.
//
// The config of such a job says "custom" in that place, so that a run is never
// continued without it.
#pragma once

#include <functional>

#include "braid/data/dataset.h"
#include "braid/graph/graph.h"
#include "braid/graph/var.h"
#include "braid/passes/step/optimizer.h"
#include "braid/passes/step/schedule.h"
#include "braid/train/job/exported_model.h"
#include "braid/train/job/job_config.h"
#include "braid/train/run/dataset_cache.h"

namespace braid::train {

// One number, made of an output of the model and the target with the functions
// of ops/build/functions.h. Called for every graph of the job, each time anew.
using LossFunction = std::function<Var(Var output, Var target)>;

// A model that is given as it is, with how it learns; `init` of the config
// tells where it begins. A row of its job's data is all that one micro-batch
// takes.
struct GivenModel {
  std::shared_ptr<const Graph> forward = {};  // of one row, with its loss
  std::shared_ptr<const FirstContents> contents = {};  // of a .pt2 file
  passes::Optimizer optimizer = {};
  std::optional<passes::Schedule> schedule = {};  // none: constant rates
  // Set last, in order, see set_hyper(); later ones count.
  std::vector<std::pair<std::string, double>> values = {};
};

struct JobHooks {
  LossFunction loss = {};  // in place of `loss`; for jobs with `model`
  data::DatasetPtr train = nullptr;  // in place of `data`
  data::DatasetPtr eval = nullptr;   // in place of `eval.data`
  // In place of `model` and of all that a job says of learning; with `train`.
  // Nothing of the config is checked then.
  std::optional<GivenModel> given = {};
  // Only outputs are wanted: the data need not have what the loss compares
  // with.
  bool learns = true;
  // What jobs that are opened with the same ones have in common; borrowed, and
  // models as long as the job lives.
  DatasetCache* datasets = nullptr;
  const ModelFiles* models = nullptr;
};

// What stands in the config for what a program gives.
inline constexpr const char* kCustom = "custom";

// The config with "custom" where a hook is. Throws when the config names
// something else there, or says "custom" and there is no hook.
JobConfig with_hooks(JobConfig config, const JobHooks& hooks);

}  // namespace braid::train
