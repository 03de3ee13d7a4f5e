// Evaluation: the metrics of given weights on data, as the training that they
// are of would have counted them.
#pragma once

#include <memory>

#include "braid/io/run/scalars.h"
#include "braid/train/run/forward_pass.h"

namespace braid::train {

// A job that is evaluated with any weights of its model. One thread. Borrows
// the machine, and what the hooks share.
class Evaluation {
 public:
  // Opens the data of `config`, those that are evaluated and those of training,
  // which tell sizes of the model and which label has which number. Without
  // `eval.metrics` it counts all that suit the model. Throws as Job does, and
  // std::invalid_argument for a job that evaluates nothing.
  Evaluation(const runtime::Machine& machine, JobConfig config,
             const JobHooks& shared = {});

  // The values in the order of the metrics, the loss first. `stop` is asked
  // after every batch; nothing when it said so.
  std::optional<io::Scalars> run(const InitFile& weights,
                                 const std::function<bool()>& stop = {});

  const data::Dataset& data() const { return *data_.eval; }

 private:
  const runtime::Machine& machine_;
  JobConfig config_;
  JobData data_;
  std::unique_ptr<JobModel> model_;
};

// The job as far as weights that were saved are looked at, checked: what a
// training goes by is no matter, and other data may stand beside a split.
JobConfig for_saved_weights(JobConfig config, const JobHooks& hooks);

// Every kind of metric that can be counted of this eval form.
std::vector<std::string> suitable_metrics(const Graph& eval);

}  // namespace braid::train
