// ForwardPass: a model with given weights that runs over data once, in order,
// and learns nothing. Evaluations and predictions of finished runs are made
// with it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "braid/data/loader.h"
#include "braid/runtime/executables.h"
#include "braid/train/array/batch_feed.h"
#include "braid/train/job/job_model.h"

namespace braid::train {

// One thread. Borrows all but the data.
class ForwardPass {
 public:
  // The graph for so many rows; its inputs are fields of the data.
  using Build = std::function<Graph(int64_t rows)>;

  // Compiles the graph for full batches and for the last one where it is
  // shorter, on the job's device. Throws when the weights do not fit the model
  // or the programs not the device.
  ForwardPass(const runtime::Machine& machine, const JobConfig& config,
              const JobModel& model, data::DatasetPtr data, const Build& build,
              const InitFile& weights);

  // After each batch; false ends the pass.
  using Visit = std::function<bool(const runtime::Executor& executor,
                                   const data::Batch& batch)>;
  // Whether it came to the end of the data.
  bool run(const Visit& visit);

  int64_t batch_rows() const { return batch_rows_; }
  // What the programs give, for full batches.
  const Graph& graph() const { return programs_->program(0).graph; }

 private:
  data::DatasetPtr data_;
  int64_t batch_rows_;
  std::unique_ptr<runtime::Backend> backend_;
  std::unique_ptr<runtime::Executables> programs_;
  std::map<int64_t, size_t> by_rows_;
  std::vector<std::unique_ptr<BatchFeed>> feeds_;  // by program
};

// Rows of its batches: `eval.batch_size`, else those of training, at most all.
int64_t forward_rows(const JobConfig& config, const data::Dataset& data);

}  // namespace braid::train
