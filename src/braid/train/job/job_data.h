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

// What a job is evaluated on: `eval.data`, else the test part of the source
// that it trains on; nothing where there is none.
std::optional<DataConfig> evaluated_data(const JobConfig& config);

// The data of a config by themselves, as an evaluation reads them. Blocking.
// `known` are the fields of training where they are to be read alike: then it
// is what a split holds back, else what it leaves to training.
data::DatasetPtr open_unchanged(
    const JobConfig& job, const DataConfig& config, const JobHooks& hooks = {},
    const std::vector<data::Field>* known = nullptr);

// What these data call so many classes; empty where they do not, or where two
// fields call them otherwise.
std::vector<std::string> class_names(const data::Dataset& data,
                                     int64_t classes);

// Throws std::runtime_error when a number of one of these fields stands for
// another label than in training; fields that one of the two lacks are passed
// over.
void check_same_classes(const data::Dataset& train, const data::Dataset& other,
                        const std::vector<std::string>& fields);

// Throws std::invalid_argument when numbers of training were prepared by their
// source and these were not.
void check_same_tables(const data::Dataset& train, const data::Dataset& other);

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
