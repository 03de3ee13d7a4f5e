// The data of a job: opened, with the fields under the names of the model's
// arguments.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "braid/data/dataset.h"
#include "braid/graph/graph.h"
#include "braid/train/job/job_config.h"
#include "braid/train/job/job_hooks.h"

namespace braid::train {

struct JobData {
  data::DatasetPtr train;
  data::DatasetPtr eval;  // null: nothing is evaluated

  // The model's argument that a field feeds, and the other way round.
  std::string argument(const std::string& field) const;
  std::optional<size_t> field_of(const std::string& argument) const;
  // Classes of a field, in training or evaluation; 0: not known.
  int64_t classes(size_t field) const;

  std::map<std::string, std::string> inputs;  // field -> argument, as given
  std::string eval_words = {};  // how eval was chosen; empty: as always
};

// Opens what the job names; eval data that are not named are what the split
// holds back, else the test part of the same source where it has one. Datasets
// of the program count over those. Blocking. Throws for whatever is wrong with
// options or files.
JobData open_data(const JobConfig& config, const JobHooks& hooks = {});

// Makes relative paths of data options absolute.
void resolve_data_paths(JobConfig& config);

// Types of the arguments for so many rows. Labels that mixup made probabilities
// of are labels here, which is what models are made for: see mixed_targets.h.
std::map<std::string, ValueType> argument_types(const JobData& data,
                                                int64_t rows);

// Everything that keeps the data from being the inputs of the forward, in one
// error: arguments without a field, other types, more classes than outputs.
// Arguments of `others` come from elsewhere.
void check_arguments(const JobData& data, const Graph& forward, int64_t rows,
                     const std::vector<std::string>& others);

}  // namespace braid::train
