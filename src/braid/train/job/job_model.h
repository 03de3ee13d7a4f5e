// The models of a job as graphs: what every phase minimises, and what is
// evaluated, for any number of rows. A job with one model has one phase.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "braid/io/checkpoint/checkpoint.h"
#include "braid/passes/step/optimizer.h"
#include "braid/passes/step/schedule.h"
#include "braid/runtime/machine.h"
#include "braid/train/job/init_file.h"
#include "braid/train/job/job_data.h"
#include "braid/train/job/job_hooks.h"
#include "braid/train/job/loss_expression.h"
#include "braid/train/job/model_file.h"
#include "braid/train/run/data_check.h"

namespace braid::train {

// One network with what belongs to it. The only one of a job has no name.
struct JobNetwork {
  std::string name;
  NetworkConfig config;
  passes::Optimizer optimizer;
  std::optional<passes::Schedule> schedule;       // none: constant rates
  std::shared_ptr<const FirstContents> contents;  // of a .pt2 file
  // That init.run says, once it was looked for.
  mutable std::optional<io::CheckpointDir> begins = {};

  // What its slots' names begin with: "generator.".
  std::string prefix() const { return name.empty() ? "" : name + "."; }
};

struct JobPhase {
  size_t network = 0;    // that learns
  int64_t every = 1;     // steps
  Expression loss = {};  // of several networks
};

class JobModel {
 public:
  // Borrows the machine, the config and the data. Builds every graph once, so
  // that what is wrong shows at once. What hooks give counts over the config.
  JobModel(const runtime::Machine& machine, const JobConfig& config,
           const JobData& data, const JobHooks& hooks = {});

  const std::vector<JobNetwork>& networks() const { return networks_; }
  const std::vector<JobPhase>& phases() const { return phases_; }
  // Inputs that are drawn, not read.
  std::vector<std::string> noise_names() const;

  // The forward of a phase for so many rows, with its loss.
  Graph forward(size_t phase, int64_t rows) const;
  // The eval form with what the metrics are counted from.
  Graph eval(int64_t rows) const;
  const std::vector<std::string>& metrics() const { return metrics_; }
  // The eval form of the only model without its loss. With a name that output
  // alone, else all that have a row for each sample.
  Graph outputs(int64_t rows, const std::string& name = "") const;
  // Tables of its evaluations, and how many classes its loss is over; 0: it is
  // over none.
  const std::vector<std::string>& tables() const { return config_.eval.tables; }
  int64_t num_classes() const { return num_classes_; }
  // What the data call them; empty where they do not.
  std::vector<std::string> class_names() const {
    return train::class_names(*data_.train, num_classes_);
  }
  // What all of these graphs read, noise among it.
  const ModelInputs& inputs() const { return inputs_; }

  // Whether parameters of an exported network are drawn by the job's seed where
  // its file tells how.
  bool draws(const JobNetwork& network) const;

  // What a seed does not change about the weights of exported networks; empty
  // where nobody could expect it to.
  std::string shared_words() const;

  // What became of the files of first weights, one note for each; all names
  // stand in the details. Reads what the files say about themselves anew.
  struct InitNote {
    std::string summary;
    std::vector<std::string> details;
  };
  std::vector<InitNote> init_notes(const std::vector<Slot>& slots,
                                   int64_t lane) const;

  // Fills a new state: by the seed, then files.
  void initialise(runtime::State& state) const;
  // Fills a new state of the only model with weights that are given: all of
  // them, or it throws std::invalid_argument with what does not fit.
  void load_weights(runtime::State& state, const InitFile& weights) const;
  // Only what comes from files; of an array the member in that lane.
  void load_files(runtime::State& state, int64_t lane) const;

 private:
  void add_networks();
  void check_renamed() const;
  bool is_only_target(const std::string& argument,
                      const std::vector<std::string>& taken) const;
  bool is_exported() const { return config_.model.ends_with(".pt2"); }
  void prepare_eval(int64_t rows);
  ModelHints single_hints(int64_t rows) const;
  std::vector<std::string> output_names(int64_t rows) const;
  Graph load_single(int64_t rows, Form form) const;
  Graph load_for_loss(ModelHints hints) const;
  std::string target_name() const;
  Graph build_phase(const JobPhase& phase, int64_t rows) const;
  void prepare(Graph& forward, const JobNetwork& learner) const;
  std::optional<io::pt2::NamedLoss> named_loss() const;

  const runtime::Machine& machine_;
  ModelFiles own_files_;
  const ModelFiles* files_;  // those, or some that jobs share
  const JobConfig& config_;
  const JobData& data_;
  LossFunction loss_;
  std::optional<GivenModel> given_;
  bool learns_ = true;       // false: the loss and its data are not needed
  std::vector<Slot> slots_;  // of the only model, in any of its forms
  std::vector<JobNetwork> networks_;
  std::vector<JobPhase> phases_;
  std::vector<std::string> metrics_;
  int64_t num_classes_ = 0;
  ModelInputs inputs_;
};

}  // namespace braid::train
